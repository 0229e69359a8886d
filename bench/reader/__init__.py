"""A simulated model of stated skill, with the OpenAI wire protocol. It stands on the side of gold.

It knows what every generated text means, by its label, and nothing that does not stand in its prompt.
"""
