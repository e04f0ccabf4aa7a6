"""One file per family of features; each registers its class with `rerank.features.recipe.register`."""
