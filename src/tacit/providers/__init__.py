"""Language models behind one port: settings → a model that answers within its budget. Writes no prompt, learns nothing.

What the extra `llm` brings is imported when a model is opened, not before.
"""

from tacit.providers.budget import Budget, Limits, Price
from tacit.providers.opening import open_model
from tacit.providers.scripted import ScriptedModel

__all__ = ["Budget", "Limits", "Price", "ScriptedModel", "open_model"]
