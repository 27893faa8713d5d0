// Entry point: puts the parts together and returns at once; the server starts behind it.
import * as vscode from "vscode";
import { acts } from "./acts";
import { Heat } from "./heat";
import { HotspotsTree, reveal } from "./hotspots";
import { choosePython, install } from "./install";
import { JobsStatus, JobsTree } from "./jobs";
import { Outcomes } from "./outcome";
import { Pages } from "./pages";
import type { Place } from "./protocol";
import { findInterpreter, onInterpreterChange } from "./python";
import { MachineCodes } from "./sass/commands";
import { Session } from "./session";
import { Status } from "./status";

let session: Session | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const began = performance.now();
  const output = vscode.window.createOutputChannel("Optimas", { log: true });
  const status = new Status();
  const tree = new HotspotsTree();
  const heat = new Heat(context);
  const pages = new Pages();
  const running = new Session(context, output, pages);
  const jobs = new JobsTree();
  const jobsStatus = new JobsStatus();
  const outcomes = new Outcomes((command, ...args) => running.execute(command, ...args), pages);
  const codes = new MachineCodes(running);
  session = running;

  context.subscriptions.push(
    output,
    status,
    tree.view,
    heat,
    pages,
    jobs.view,
    jobsStatus,
    outcomes,
    codes,
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
    running.onJobs((list) => {
      jobs.show(list);
      jobsStatus.show(list);
      outcomes.follow(list);
    }),
    ...Object.entries(acts(running, jobs, outcomes)).map(([name, run]) =>
      vscode.commands.registerCommand(`optimas.client.${name}`, run),
    ),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("optimas.python")) {
        void running.restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      void running.restart();
    }),
    ...commands(context, running, tree, heat, output),
    ...machineCode(codes),
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
    register("goToHotspot", () => tree.pick()),
    register("chooseReport", async () => {
      const path = await tree.pickReport();
      return path === undefined ? undefined : running.execute("optimas.chooseReport", path);
    }),
    register("showReport", (node: { report: { path: string } }) => running.execute("optimas.chooseReport", node.report.path)),
    register("debugInformation", async () => showData(await running.execute("optimas.debugInformation"))),
    register("whyMapped", async () => {
      const uri = vscode.window.activeTextEditor?.document.uri.toString();
      return uri === undefined ? undefined : showData(await running.execute("optimas.whyMapped", uri));
    }),
    register("reveal", (place: Place) => reveal(place)),
  ];
}

/** Commands about machine code; those about an instruction are about the one at the cursor unless one is given. */
function machineCode(codes: MachineCodes): vscode.Disposable[] {
  const register = (name: string, run: (...args: never[]) => unknown): vscode.Disposable =>
    vscode.commands.registerCommand(`optimas.client.${name}`, run);
  return [
    register("machineCode", (given?: unknown) => codes.show(given)),
    register("machineCodeKernel", (given?: unknown) => codes.show(given)),
    register("machineCodeSource", (uri?: string, line?: number) => codes.toSource(uri, line)),
    register("machineCodeCause", () => codes.toEdge("waits_for")),
    register("machineCodeWaiting", () => codes.toEdge("awaited_by")),
    register("machineCodeBack", () => codes.back()),
    register("machineCodeWaits", () => codes.chooseEdge()),
    register("machineCodeRow", (uri: string, row: number) => codes.toRow(uri, row)),
  ];
}

/** What the server answered, as a JSON document to read and copy. */
async function showData(data: unknown): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: "json", content: JSON.stringify(data, undefined, 2) });
  await vscode.window.showTextDocument(document);
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
