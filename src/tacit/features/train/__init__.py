"""Trains adapters on verified work: dataset, LoRA training, paired test, registry. Torch is imported only when it is
used."""
