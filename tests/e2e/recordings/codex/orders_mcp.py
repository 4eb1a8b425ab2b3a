"""The smallest MCP server that the scenarios need: one tool on stdio, which fails for an order that is not there."""

import json
import sys

TOOL = {
    "name": "find_order",
    "description": "Finds an order by its number.",
    "inputSchema": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
}


def answer(method, params):
    if method == "initialize":
        serves = {"name": "orders", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": serves}
    if method == "tools/list":
        return {"tools": [TOOL]}
    number = params.get("arguments", {}).get("number", "")
    known = number == "1001"
    text = "order 1001: two abacuses, paid" if known else f"order {number} is not there"
    return {"content": [{"type": "text", "text": text}], "isError": not known}


for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") in ("initialize", "tools/list", "tools/call"):
        result = answer(asked["method"], asked.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
    elif "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}), flush=True)
