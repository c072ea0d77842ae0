"""The nine scenes of the SONIC-O1-shaped half, one module each."""

from __future__ import annotations

from bench.demo.make.scenes.drill import DRILL
from bench.demo.make.scenes.headphones import HEADPHONES
from bench.demo.make.scenes.hot_car import HOT_CAR
from bench.demo.make.scenes.kitchen_fire import KITCHEN_FIRE
from bench.demo.make.scenes.knee import KNEE
from bench.demo.make.scenes.loft import LOFT
from bench.demo.make.scenes.pressure import PRESSURE
from bench.demo.make.scenes.router import ROUTER
from bench.demo.make.scenes.shared_flat import SHARED_FLAT
from bench.demo.make.script import Scene

SCENES: tuple[Scene, ...] = (
    KNEE,
    PRESSURE,
    HEADPHONES,
    ROUTER,
    KITCHEN_FIRE,
    DRILL,
    HOT_CAR,
    LOFT,
    SHARED_FLAT,
)
