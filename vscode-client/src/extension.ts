// Entry point: puts the parts together and returns at once; the server starts behind it.
import * as vscode from "vscode";
import { Heat } from "./heat";
import { HotspotsTree, reveal } from "./hotspots";
import { choosePython, install } from "./install";
import type { Place } from "./protocol";
import { findInterpreter, onInterpreterChange } from "./python";
import { Session } from "./session";
import { Status } from "./status";

let session: Session | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const began = performance.now();
  const output = vscode.window.createOutputChannel("Optimas", { log: true });
  const status = new Status();
  const tree = new HotspotsTree();
  const heat = new Heat(context);
  const running = new Session(context, output);
  session = running;

  context.subscriptions.push(
    output,
    status,
    tree.view,
    heat,
    running,
    running.onPhase((phase) => {
      status.enter(phase, running.reason);
    }),
    running.onHotspots((hotspots) => {
      status.show(hotspots);
      tree.show(hotspots);
      heat.show(hotspots);
      void vscode.commands.executeCommand("setContext", "optimas.profiled", hotspots.reports.length > 0);
    }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("optimas.python")) {
        void running.restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      void running.restart();
    }),
    ...commands(context, running, tree, heat, output),
  );
  void running.restart().then(() => followPythonExtension(context, running));
  output.info(`activated in ${(performance.now() - began).toFixed(1)} ms`);
}

export async function deactivate(): Promise<void> {
  await session?.end();
}

// The server registers its own commands through the protocol; these are only the ones that the editor must do itself.
function commands(
  context: vscode.ExtensionContext,
  running: Session,
  tree: HotspotsTree,
  heat: Heat,
  output: vscode.LogOutputChannel,
): vscode.Disposable[] {
  const register = (name: string, run: (...args: never[]) => unknown): vscode.Disposable =>
    vscode.commands.registerCommand(`optimas.client.${name}`, run);
  return [
    register("restart", () => running.restart()),
    register("showOutput", () => {
      output.show();
    }),
    register("choosePython", () => choosePython()),
    register("install", async () => {
      const interpreter = await findInterpreter(context);
      const own = interpreter.origin === "the extension's own environment" || interpreter.origin === "PATH";
      if (await install(context, interpreter, own ? "separate" : "this")) {
        await running.restart();
      }
    }),
    register("openWalkthrough", () =>
      vscode.commands.executeCommand("workbench.action.openWalkthrough", `${context.extension.id}#start`, false),
    ),
    register("toggleHeat", () => heat.toggle()),
    register("refreshHotspots", () => {
      running.refreshSoon();
    }),
    register("goToHotspot", () => tree.pick()),
    register("reveal", (place: Place) => reveal(place)),
  ];
}

async function followPythonExtension(context: vscode.ExtensionContext, running: Session): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    return;
  }
  const watch = await onInterpreterChange(() => {
    void findInterpreter(context).then((interpreter) =>
      interpreter.origin === "the Python extension" ? running.restart() : undefined,
    );
  });
  if (watch !== undefined) {
    context.subscriptions.push(watch);
  }
}
