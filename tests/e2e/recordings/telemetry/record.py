"""Records the spans of agent frameworks: `python record.py pydantic-ai|openai-agents|langgraph`, where they are installed.

Each framework asks a server on this machine that gives prepared answers, so a recording holds only what stands here. Stack
traces and the ids of processes are left out. Packages: pydantic-ai-slim[openai]; openai-agents with
opentelemetry-instrumentation-openai-agents; langgraph and langchain-openai with openinference-instrumentation-langchain.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ASK = "How many crates are in hall 7, and how many in hall 9?"
SYSTEM = "You count crates."
CRATES = {"7": "12 crates"}
ANSWERS = [("I count hall 7.", "7"), ("Now hall 9.", "9"), ("12 crates in hall 7; hall 9 is closed.", "")]
MODEL = "prepared-1"


class Server(BaseHTTPRequestHandler):
    """Answers chat completions with the prepared answers, one after the other."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        turn = sum(message["role"] == "assistant" for message in asked["messages"])
        said, hall = ANSWERS[turn]
        message: dict[str, Any] = {"role": "assistant", "content": said}
        if hall:
            called = {"name": "count_crates", "arguments": json.dumps({"hall": hall})}
            message["tool_calls"] = [{"id": f"call_{turn}", "type": "function", "function": called}]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if hall else "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        answer = {"id": f"answer_{turn}", "object": "chat.completion", "created": 1, "model": MODEL}
        data = json.dumps({**answer, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: Any) -> None:
        """Say nothing."""


def count_crates(hall: str) -> str:
    """Count the crates in a hall."""
    if hall not in CRATES:
        raise ValueError(f"hall {hall} is closed")
    return CRATES[hall]


def run_pydantic_ai(provider: Any) -> None:
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.models.instrumented import InstrumentationSettings
    from pydantic_ai.models.openai import OpenAIChatModel

    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    agent = Agent(OpenAIChatModel(MODEL), name="counter", instructions=SYSTEM, retries=2)

    @agent.tool_plain(name="count_crates")
    def counted(hall: str) -> str:
        try:
            return count_crates(hall)
        except ValueError as error:
            raise ModelRetry(str(error)) from None

    agent.run_sync(ASK)


def run_openai_agents(provider: Any) -> None:
    import agents
    from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    agents.set_trace_processors([])
    agents.set_default_openai_api("chat_completions")
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    agent = agents.Agent(name="counter", instructions=SYSTEM, tools=[agents.function_tool(count_crates)], model=MODEL)
    agents.Runner.run_sync(agent, ASK)


def run_langgraph(provider: Any) -> None:
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.prebuilt import ToolNode, create_react_agent
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=provider)
    tools = ToolNode([tool(count_crates)], handle_tool_errors=True)
    create_react_agent(ChatOpenAI(model=MODEL), tools, prompt=SYSTEM).invoke({"messages": [("user", ASK)]})


def without_machine(value: Any) -> Any:
    """Leave out stack traces and what names this machine or process."""
    if isinstance(value, dict):
        dropped = ("exception.stacktrace", "service.instance.id", "server.port", "resource")
        return {key: without_machine(item) for key, item in value.items() if key not in dropped}
    if isinstance(value, list):
        return [without_machine(item) for item in value]
    if isinstance(value, str) and "Traceback (most recent call last)" in value:
        return value.partition("Traceback (most recent call last)")[0].strip()
    return value


RUNS = {"pydantic-ai": run_pydantic_ai, "openai-agents": run_openai_agents, "langgraph": run_langgraph}


def main() -> None:
    """Run one framework, and write its spans beside this file."""
    name = sys.argv[1]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ.update(
        OPENAI_API_KEY="no-key-is-needed-here",
        OPENAI_BASE_URL=f"http://127.0.0.1:{server.server_port}/v1",
        OTEL_SEMCONV_STABILITY_OPT_IN="gen_ai_latest_experimental",
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="true",
        TRACELOOP_TELEMETRY="false",
    )
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    RUNS[name](provider)
    lines = [json.dumps(without_machine(json.loads(span.to_json()))) for span in exporter.get_finished_spans()]
    Path(__file__).with_name(f"{name}.jsonl").write_text("".join(line + "\n" for line in lines))
    server.shutdown()


if __name__ == "__main__":
    main()
