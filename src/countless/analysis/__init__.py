"""Statistics, tables, plots and the HTML report; reads records, never runs anything."""
