// Finds a Python that can run the server and says in words what is missing.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";

export type Origin = "the setting optimas.python" | "the extension's own environment" | "the Python extension" | "PATH";

export interface Interpreter {
  readonly command: string;
  readonly origin: Origin;
}

/** What one interpreter can do. `missing` names packages that the server needs and this Python lacks. */
export type Verdict =
  | { readonly kind: "ready"; readonly interpreter: Interpreter; readonly server: string; readonly python: string }
  | { readonly kind: "no-python"; readonly interpreter: Interpreter; readonly why: string }
  | { readonly kind: "too-old"; readonly interpreter: Interpreter; readonly python: string }
  | { readonly kind: "incomplete"; readonly interpreter: Interpreter; readonly python: string; readonly missing: readonly string[] };

const OLDEST = [3, 11] as const;

// Looks packages up without importing the heavy ones: this runs before every start of the server.
const PROBE = `
import importlib.util as u, json, sys
names = ["optimas_lsp", "pygls", "lsprotocol", "pydantic", "numpy"]
missing = [n for n in names if u.find_spec(n) is None] if sys.version_info >= (3, 11) else []
version = None
if not missing and sys.version_info >= (3, 11):
    import optimas_lsp
    version = getattr(optimas_lsp, "__version__", "unknown")
print(json.dumps({"python": "%d.%d.%d" % sys.version_info[:3], "missing": missing, "server": version}))
`;

interface Probe {
  readonly python: string;
  readonly missing: readonly string[];
  readonly server: string | null;
}

/** The environment a Python started by this extension gets: never imports from the folder it was started in. */
export function environment(): NodeJS.ProcessEnv {
  return { ...process.env, PYTHONSAFEPATH: "1", PYTHONUTF8: "1", PYTHONUNBUFFERED: "1" };
}

/** Where the environment that this extension makes on request keeps its Python. */
export function ownPython(context: vscode.ExtensionContext): string {
  const folder = join(context.globalStorageUri.fsPath, "python");
  return process.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");
}

/**
 * The interpreter to use: the setting, the extension's own environment, the one chosen in the Python extension, PATH.
 * In an untrusted workspace the third is left out, because the folder may have brought it along.
 */
export async function findInterpreter(context: vscode.ExtensionContext): Promise<Interpreter> {
  const configured = vscode.workspace.getConfiguration("optimas").get<string>("python", "").trim();
  if (configured !== "") {
    return { command: expand(configured), origin: "the setting optimas.python" };
  }
  const own = ownPython(context);
  if (existsSync(own)) {
    return { command: own, origin: "the extension's own environment" };
  }
  const chosen = vscode.workspace.isTrusted ? await pythonExtensionChoice() : undefined;
  if (chosen !== undefined) {
    return { command: chosen, origin: "the Python extension" };
  }
  return { command: process.platform === "win32" ? "python" : "python3", origin: "PATH" };
}

function expand(path: string): string {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  const named = path.replaceAll("${workspaceFolder}", folder);
  return named.startsWith("~/") ? join(homedir(), named.slice(2)) : named;
}

interface PythonEnvironments {
  getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
  resolveEnvironment(path: { readonly path: string }): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
  onDidChangeActiveEnvironmentPath?: vscode.Event<unknown>;
}

async function pythonEnvironments(): Promise<PythonEnvironments | undefined> {
  const extension = vscode.extensions.getExtension<{ readonly environments?: PythonEnvironments }>("ms-python.python");
  if (extension === undefined) {
    return undefined;
  }
  return (await extension.activate()).environments;
}

async function pythonExtensionChoice(): Promise<string | undefined> {
  const environments = await pythonEnvironments();
  const path = environments?.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri);
  if (environments === undefined || path === undefined) {
    return undefined;
  }
  return (await environments.resolveEnvironment(path))?.executable.uri?.fsPath;
}

/** Calls `changed` when another interpreter is chosen in the Python extension, if there is one. */
export async function onInterpreterChange(changed: () => void): Promise<vscode.Disposable | undefined> {
  return (await pythonEnvironments())?.onDidChangeActiveEnvironmentPath?.(changed);
}

/** Runs `interpreter` once to learn its version and which of the server's packages it has. */
export async function examine(interpreter: Interpreter, cwd: string): Promise<Verdict> {
  const ran = await run(interpreter.command, ["-c", PROBE], cwd);
  if (!ran.ok) {
    return { kind: "no-python", interpreter, why: ran.text };
  }
  const probe = JSON.parse(ran.text) as Probe;
  const [major = 0, minor = 0] = probe.python.split(".").map(Number);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    return { kind: "too-old", interpreter, python: probe.python };
  }
  if (probe.server === null) {
    return { kind: "incomplete", interpreter, python: probe.python, missing: probe.missing };
  }
  return { kind: "ready", interpreter, server: probe.server, python: probe.python };
}

/** The sentence a person reads about a Python that cannot run the server. */
export function explain(verdict: Exclude<Verdict, { kind: "ready" }>): string {
  const which = `${verdict.interpreter.command} (from ${verdict.interpreter.origin})`;
  switch (verdict.kind) {
    case "no-python":
      return `Optimas needs Python ${OLDEST.join(".")} or newer, and ${which} does not run: ${verdict.why}.`;
    case "too-old":
      return `Optimas needs Python ${OLDEST.join(".")} or newer; ${which} is ${verdict.python}.`;
    case "incomplete":
      return verdict.missing.includes("optimas_lsp")
        ? `The Optimas server is not installed in ${which}.`
        : `The Optimas server in ${which} lacks ${verdict.missing.join(", ")}.`;
  }
}

function run(command: string, args: readonly string[], cwd: string): Promise<{ ok: boolean; text: string }> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd, env: environment(), timeout: 20_000, windowsHide: true }, (error, stdout, stderr) => {
      if (error === null) {
        resolve({ ok: true, text: stdout });
        return;
      }
      const last = stderr.trim().split("\n").at(-1) ?? "";
      const absent = (error as NodeJS.ErrnoException).code === "ENOENT";
      resolve({ ok: false, text: absent ? "there is no such program" : last || error.message });
    });
  });
}
