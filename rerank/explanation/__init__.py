"""Why a document is where it is, how features act, and the card of a model."""
