"""Click models: what each says of a query-document pair. A new one is a module of this package that registers it."""
