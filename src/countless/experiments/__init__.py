"""The paper's tables and figures, one module each: settings, published numbers, words."""
