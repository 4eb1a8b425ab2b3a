"""`tacit hook`: what an agent's client reports at each moment → background knowledge for the agent, or nothing.

Runs hundreds of times a day inside an agent's client. The modules that answer import nothing that is slow to load, write
to no database, and never let the agent see a fault; what takes time is left to a detached learner.
"""
