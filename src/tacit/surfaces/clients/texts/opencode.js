// Written by `tacit init`; `tacit uninstall` removes it. It tells Tacit what happens in opencode and hands on what Tacit says.
// Whatever goes wrong in here stays in here: without an answer, opencode goes on as if this file were not there.
import { spawn } from "node:child_process"
import { homedir } from "node:os"
import { join } from "node:path"

const HOOK = {hook}
const SERVER = {server}
const DENIED = {denied}
const LIMIT_MS = {limit}
const NAMES = { bash: "Bash", read: "Read", edit: "Edit", write: "Write" }

const ask = (cwd, fields) =>
  new Promise((resolve) => {
    let said = ""
    const hook = spawn("sh", ["-c", HOOK], { cwd, detached: true, stdio: ["pipe", "pipe", "ignore"] })
    const stop = setTimeout(() => {
      resolve("")
      process.kill(-hook.pid, "SIGKILL")
    }, LIMIT_MS)
    const end = (text) => {
      clearTimeout(stop)
      resolve(text)
    }
    hook.on("error", () => end(""))
    hook.on("close", () => end(said))
    hook.stdout.on("data", (part) => (said += part))
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify({ ...fields, cwd }))
  })
    .then((said) => (said && JSON.parse(said).hookSpecificOutput?.additionalContext) || "")
    .catch(() => "")

const snakeCase = (args) =>
  Object.fromEntries(Object.entries(args ?? {}).map(([key, value]) => [key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value]))

export const Tacit = async ({ directory }) => {
  const parents = {} // a subagent's session -> the one that a person talks to
  const starts = {} // session -> how it began, until that is told
  const tell = (session, name, fields) => {
    const of = parents[session] ? { session_id: parents[session], agent_id: session } : { session_id: session }
    return ask(directory, { hook_event_name: name, ...of, ...fields })
  }
  return {
    config: async (config) => {
      const permission = typeof config.permission === "string" ? { "*": config.permission } : config.permission
      const bash = typeof permission?.bash === "string" ? { "*": permission.bash } : permission?.bash
      config.permission = { ...permission, bash: { ...bash, ...DENIED } } // the last rule that fits counts
      if (SERVER) config.mcp = { tacit: { type: "local", command: SERVER, enabled: true }, ...config.mcp }
    },
    "shell.env": async ({ sessionID }, { env }) => {
      if (sessionID) env.TACIT_SESSION = parents[sessionID] ?? sessionID
    },
    event: async ({ event: { type, properties } }) => {
      const { id, parentID } = properties?.info ?? {}
      const session = properties?.sessionID
      if (type === "session.created" && parentID) parents[id] = parents[parentID] ?? parentID
      else if (type === "session.created") starts[id] = "startup"
      else if (type === "session.compacted") starts[session] = "compact"
      else if (type === "session.idle" && !parents[session]) {
        const data = process.env.XDG_DATA_HOME || join(homedir(), ".local", "share")
        await tell(session, "Stop", { transcript_path: `${join(data, "opencode", "opencode.db")}#${session}` })
      }
    },
    "chat.message": async ({ sessionID }, { parts }) => {
      const last = parts.findLast((part) => part.type === "text" && !part.synthetic)
      if (!last || parents[sessionID]) return
      const source = starts[sessionID] ?? "resume"
      starts[sessionID] = ""
      const told = [source && (await tell(sessionID, "SessionStart", { source }))]
      told.push(await tell(sessionID, "UserPromptSubmit", { prompt: last.text }))
      const text = told.filter(Boolean).join("\n")
      if (text) parts.push({ ...last, id: `${last.id}t`, text, synthetic: true })
    },
    "tool.execute.after": async ({ tool, sessionID, args }, result) => {
      if (typeof result.output !== "string") return
      const call = { tool_name: NAMES[tool] ?? tool, tool_input: snakeCase(args) }
      const text = result.metadata?.exit
        ? await tell(sessionID, "PostToolUseFailure", { ...call, error: result.output })
        : await tell(sessionID, "PostToolUse", { ...call, tool_response: { stdout: result.output } })
      if (text) result.output += `\n\n${text}`
    },
  }
}
