"""Jobs, the store that keeps them, and the engine that executes them; run and sweep."""
