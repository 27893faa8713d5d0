// The button that fixes a missing server: shows the exact commands, asks, then runs them in a visible terminal.
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import * as vscode from "vscode";
import { explain, ownPython, type Interpreter, type Verdict } from "./python";

type Broken = Exclude<Verdict, { kind: "ready" }>;

const CHOOSE = "Choose Python…";
const INTO_THIS = "Install…";
const SEPARATE = "New environment…";

/** Says what is missing and offers what can fix it; resolves to true when a fix ran to its end. */
export async function offerFix(context: vscode.ExtensionContext, verdict: Broken): Promise<boolean> {
  const fixes = verdict.kind === "incomplete" ? [INTO_THIS, SEPARATE, CHOOSE] : [CHOOSE];
  const picked = await vscode.window.showWarningMessage(explain(verdict), ...fixes);
  switch (picked) {
    case INTO_THIS:
      return install(context, verdict.interpreter, "this");
    case SEPARATE:
      return install(context, verdict.interpreter, "separate");
    case CHOOSE:
      return choosePython();
    default:
      return false;
  }
}

/** Lets the user name another interpreter; it is kept in the user's own settings. */
export async function choosePython(): Promise<boolean> {
  const settings = vscode.workspace.getConfiguration("optimas");
  const answer = await vscode.window.showInputBox({
    title: "Python that runs the Optimas server",
    prompt: "Path or program name of a Python 3.11 or newer; empty to find one automatically",
    value: settings.get<string>("python", ""),
    ignoreFocusOut: true,
  });
  if (answer === undefined || answer === settings.get<string>("python", "")) {
    return false;
  }
  await settings.update("python", answer === "" ? undefined : answer, vscode.ConfigurationTarget.Global);
  return true;
}

interface Step {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** Installs the server into `interpreter` ("this") or into an environment of the extension's own ("separate"). */
export async function install(
  context: vscode.ExtensionContext,
  interpreter: Interpreter,
  where: "this" | "separate",
): Promise<boolean> {
  const own = ownPython(context);
  const target = where === "this" ? interpreter.command : own;
  const steps: Step[] = [];
  if (where === "separate") {
    steps.push({
      name: "Make the environment",
      command: interpreter.command,
      args: ["-m", "venv", dirname(dirname(own))],
    });
  }
  steps.push({
    name: "Install the server",
    command: target,
    args: ["-m", "pip", "install", "--upgrade", ...carriedWheels(context.extensionPath), serverPackage(context.extensionPath)],
  });

  const accept = "Run";
  const answer = await vscode.window.showInformationMessage(
    "Install the Optimas server?",
    { modal: true, detail: `This runs:\n\n${steps.map((step) => [step.command, ...step.args].join(" ")).join("\n\n")}` },
    accept,
  );
  if (answer !== accept) {
    return false;
  }
  for (const step of steps) {
    const status = await runVisibly(step, context.extensionPath);
    if (status !== 0) {
      void vscode.window.showErrorMessage(
        `Optimas: “${step.name}” ended with status ${String(status)}; its terminal says why. ` +
          "A system Python often refuses packages: make a separate environment instead.",
      );
      return false;
    }
  }
  return true;
}

/** The server's wheel that came with this extension, so that both have one version, or else the name on the index. */
export function serverPackage(extensionPath: string): string {
  const wheel = wheels(extensionPath).find((name) => name.startsWith("optimas_lsp-"));
  return wheel === undefined ? "optimas-lsp" : join(extensionPath, "server", wheel);
}

/** Where pip finds what the server needs without an index, if the package carries it; an index out of reach is passed over. */
function carriedWheels(extensionPath: string): readonly string[] {
  return wheels(extensionPath).length > 1 ? ["--retries", "0", "--find-links", join(extensionPath, "server")] : [];
}

function wheels(extensionPath: string): readonly string[] {
  const folder = join(extensionPath, "server");
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".whl")) : [];
}

function runVisibly(step: Step, cwd: string): Promise<number | undefined> {
  const task = new vscode.Task(
    { type: "optimas", step: step.name },
    vscode.TaskScope.Workspace,
    step.name,
    "Optimas",
    new vscode.ProcessExecution(step.command, [...step.args], { cwd }),
  );
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, clear: false, showReuseMessage: false };
  return new Promise((resolve, reject) => {
    const watch = vscode.tasks.onDidEndTaskProcess((end) => {
      if (end.execution.task.definition["step"] === step.name && end.execution.task.definition.type === "optimas") {
        watch.dispose();
        resolve(end.exitCode);
      }
    });
    vscode.tasks.executeTask(task).then(undefined, (error: unknown) => {
      watch.dispose();
      reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
}
