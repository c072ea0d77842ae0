"""A figure on its way to a file, and what its numbers are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from analysis.errors import JudgeNotChosen
from analysis.layout import daggered, slice_heading
from analysis.measure import Ask, Measure, Measures
from analysis.scores import Scores
from analysis.spec import MetricSpec, PaperSpec, paper_of
from analysis.uncertainty import Limits, intervals
from bench.item import TaskType
from bench.registry import is_over_topics
from rejudge import __version__
from score.statistics.answer import HEADLINE
from score.statistics.panel import Reading

if TYPE_CHECKING:
    import altair as alt

TASKS = {
    "summary": "Summaries",
    "choice": "Multiple choice",
    "localization": "Temporal localization",
    "assistant": "Dialogue turns",
    "empathic": "Empathic summaries",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawn figure."""

    name: str
    """Names its files."""
    chart: alt.TopLevelMixin
    made: dict[str, Any]
    """How its numbers were made; travels beside it as JSON."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A task's metric as figures show it."""

    task: str
    metric: str
    judge: str
    label: str
    low: float | None
    """The least and the greatest value there can be, in the figure's unit; None: no bound."""
    high: float | None
    factor: float

    def of(self, value: float) -> float:
        """Return a score in the figure's unit."""
        return value * self.factor

    @property
    def title(self) -> str:
        """Of an axis or a panel: task and metric."""
        return f"{TASKS.get(self.task, self.task)}: {self.label}"


@dataclass
class Source:
    """Scores, and how they are looked at."""

    scores: Scores
    judge: str = ""
    """Whose verdicts are shown; "": none, or none of several was chosen."""
    reading: Reading = Reading.SCORED_ONLY
    paper: PaperSpec = field(init=False)

    def __post_init__(self) -> None:
        self.paper = paper_of(self.tasks)
        benchmarks = self.scores.frame["benchmark"].unique()
        self.over_topics = all(map(is_over_topics, benchmarks))
        self.measures = Measures(self.scores, self.reading, over_topics=self.over_topics)

    @property
    def tasks(self) -> list[str]:
        """Tasks of the scores, in the order that they are listed in."""
        found = set(self.scores.frame["task"].unique())
        return [task for task in TASKS if task in found]

    def runs(self, task: str) -> list[str]:
        """Return the runs that were asked a task, in alphabetical order."""
        return self.measures.runs_of({task})

    def named(self, run: str) -> str:
        """Return a run's name, with a dagger where its model is a closed-source one."""
        return daggered(self.paper, run, self.scores.model_of.get(run, ""))

    def headlines(self) -> list[Shown]:
        """Return the headline metric of each task that has one.

        Raises:
            JudgeNotChosen: one is a judge's, and none of several judges was chosen.
        """
        tasks = [task for task in self.tasks if task in HEADLINE]
        if any(HEADLINE[task][0].endswith("_judge") for task in tasks):
            self.need_judge()
        return [self.shown(task, HEADLINE[task][0 if self.judge else 1]) for task in tasks]

    def need_judge(self) -> None:
        """Check that it is known whose scores are shown.

        Raises:
            JudgeNotChosen: none of several judges was chosen.
        """
        if why := self.scores.unchosen(self.judge):
            raise JudgeNotChosen(why)

    def shown(self, task: str, metric: str) -> Shown:
        """Return how a metric is shown: in the unit that tables have."""
        spec = self.paper.metric.get(TaskType(task), {}).get(metric, MetricSpec(metric))
        is_judge = metric.endswith("_judge")
        scale = self.scores.scale_of(self.judge) if is_judge else None
        label = spec.label + (f" ({spec.unit})" if spec.unit else "")
        judge = self.judge if is_judge else ""
        if spec.points and scale is not None:
            return Shown(task, metric, judge, "Judge (points of 100)", 0, 100, 100.0 / scale[1])
        if is_judge:
            low, high = scale or (None, None)
            return Shown(task, metric, judge, label, low, high, 1.0)
        bounded = not metric.startswith("mae")
        high = spec.scale if bounded else None
        return Shown(task, metric, judge, label, 0.0, high, spec.scale)

    def measure(self, run: str, shown: Shown, by: str = "", name: str = "") -> Measure:
        """Return a mean of a run: of all items, or of a slice."""
        return self.measures.of(Ask(run, shown.task, shown.metric, shown.judge, by, name))

    def limits(self, runs: Sequence[str], shown: Shown) -> dict[str, Limits]:
        """Return the interval of each run's mean of all items, in the figure's unit."""
        asks = {Ask(run, shown.task, shown.metric, shown.judge): run for run in runs}
        found = intervals(self.scores, asks.keys(), self.reading, over_topics=self.over_topics)
        return {asks[ask]: (shown.of(low), shown.of(high)) for ask, (low, high) in found.items()}

    def heading(self, attribute: str, name: str) -> str:
        """Return how a slice is shown."""
        return slice_heading(self.paper, attribute, name)

    def made(self, **what: Any) -> dict[str, Any]:
        """Return how a figure's numbers were made."""
        return {
            **what,
            "judge": self.judge,
            "reading": str(self.reading),
            "scores_sha256": self.scores.digest,
            "scores": self.scores.signature,
        }

    def signature(self) -> str:
        """Say in one line where a figure comes from."""
        benchmark = ", ".join(sorted(self.scores.frame["benchmark"].unique()))
        judge = f"judge {self.judge}, " if self.judge else ""
        return f"{benchmark}, {judge}made by rejudge {__version__} from scores {self.scores.digest}"
