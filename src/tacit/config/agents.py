"""How coding agents show: by the variables they set in shells, and by the names of their programs."""

from __future__ import annotations

AGENT_MARKERS = (
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_PID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_CI",
    "GEMINI_CLI",
    "GEMINI_SESSION_ID",
    "COPILOT_AGENT_SESSION_ID",
    "QWEN_CODE",
    "OPENCODE",
    "LETTA_AGENT_ID",
    "CURSOR_AGENT",
    "CURSOR_TRACE_ID",
    "AIDER_CHAT",
    "AI_AGENT",
)
"""Set by coding agents in the shells they start. Their presence, here or in a process above, means: no person is typing."""

AGENT_PROGRAMS = frozenset("claude codex gemini copilot opencode qwen letta aider cursor-agent goose amp crush".split())
"""Coding agents by the name of their program; what such a process starts is not typed by a person."""
