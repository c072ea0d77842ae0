"""What people read: tables, figures and the report."""
