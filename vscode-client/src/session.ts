// One running server and everything that depends on it: start, stop, restart, and what the editor shows meanwhile.
import * as vscode from "vscode";
import type { LanguageClient, LanguageClientOptions, Middleware, ServerOptions } from "vscode-languageclient/node";
import { offerFix } from "./install";
import { JOBS_CHANGED, type Job, type Jobs } from "./jobs";
import type { Pages } from "./pages";
import { progress } from "./progress";
import { question } from "./question";
import { HOTSPOTS_CHANGED, HOTSPOTS_COMMAND, EMPTY, type Hotspots } from "./protocol";
import { environment, examine, explain, findInterpreter, type Verdict } from "./python";
import { chosenSettings } from "./settings";

const LANGUAGES = ["cuda-cpp", "cuda", "c", "cpp", "python"];

type ShowDocument = NonNullable<NonNullable<Middleware["window"]>["showDocument"]>;

/** What the server has written is read, not edited: texts open rendered, pages in a webview. Everything else as ever. */
function showIn(pages: Pages): ShowDocument {
  return async (params, token, next) => {
    const uri = vscode.Uri.parse(params.uri, true);
    if (uri.scheme === "file" && uri.path.endsWith(".md")) {
      await vscode.commands.executeCommand("markdown.showPreview", uri);
    } else if (uri.scheme === "file" && uri.path.endsWith(".html")) {
      await pages.show(uri.fsPath);
    } else {
      return next(params, token);
    }
    return { success: true };
  };
}

/** Commands of the server after which something is run, sent or changed. */
const ACTING = new Set(["optimizeKernel", "optimizeFinding", "tryTransformation", "profileKernel", "applyOutcome"].map((name) => `optimas.${name}`));

/** Whether a code action or lens may not do what it says, because the folder is not trusted; then that is said. */
async function refused(command: string): Promise<boolean> {
  if (vscode.workspace.isTrusted || !ACTING.has(command)) {
    return false;
  }
  const manage = "Manage Workspace Trust";
  const words = "Optimas: this folder is not trusted, so its profile is shown but nothing is built, run, sent or changed.";
  if ((await vscode.window.showWarningMessage(words, manage)) === manage) {
    await vscode.commands.executeCommand("workbench.trust.manage");
  }
  return true;
}

export type Phase = "starting" | "running" | "stopped" | "failed";

export class Session implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private readonly phases = new vscode.EventEmitter<Phase>();
  private readonly changes = new vscode.EventEmitter<Hotspots>();
  private queue: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;

  private readonly lists = new vscode.EventEmitter<readonly Job[]>();

  readonly onPhase = this.phases.event;
  /** The rewrites that were asked for, newest first, whenever something about them changed. */
  readonly onJobs = this.lists.event;
  readonly onHotspots = this.changes.event;
  phase: Phase = "stopped";
  /** Commands of the server, as code actions and lenses name them, that the editor does in its own way. */
  readonly instead = new Map<string, (...args: readonly unknown[]) => Promise<void>>();
  /** Why the server is not running, in words; empty while it is. */
  reason = "";

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly output: vscode.LogOutputChannel,
    private readonly pages: Pages,
  ) {}

  /** Starts the server, or stops it and starts it again; calls made meanwhile wait their turn. */
  restart(): Promise<void> {
    this.queue = this.queue.then(() => this.startOnce()).catch((error: unknown) => {
      this.fail(error instanceof Error ? error.message : String(error));
    });
    return this.queue;
  }

  private async startOnce(): Promise<void> {
    await this.stop();
    this.enter("starting");
    const home = this.context.extensionPath;
    const verdict = await examine(await findInterpreter(this.context), home);
    if (verdict.kind !== "ready") {
      this.fail(explain(verdict));
      void this.repair(verdict);
      return;
    }
    const { interpreter } = verdict;
    this.output.info(`server ${verdict.server} with Python ${verdict.python}: ${interpreter.command} (${interpreter.origin})`);
    const server: ServerOptions = {
      command: interpreter.command,
      args: ["-m", "optimas_lsp"],
      options: { cwd: home, env: environment() },
    };
    const { LanguageClient, State } = await import("./client.js");
    const client = new LanguageClient("optimas", "Optimas", server, this.options());
    client.onNotification(HOTSPOTS_CHANGED, () => {
      this.refreshSoon();
    });
    client.onNotification(JOBS_CHANGED, (answer: Jobs) => {
      this.lists.fire(answer.jobs);
    });
    client.onRequest("window/showMessageRequest", question);
    client.onDidChangeState((change) => {
      if (client !== this.client) {
        return;
      }
      if (change.newState === State.Running) {
        this.enter("running");
        this.refreshSoon();
        void this.execute("optimas.jobs").then((answer) => {
          this.lists.fire((answer as Jobs | null)?.jobs ?? []);
        }, () => undefined); // a server that knows no jobs
      } else if (change.newState === State.Stopped) {
        this.enter("stopped");
        this.changes.fire(EMPTY);
        this.lists.fire([]);
      }
    });
    this.client = client;
    await client.start();
    this.warnOfOtherVersion(verdict);
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: LANGUAGES.map((language) => ({ scheme: "file", language })),
      outputChannel: this.output,
      initializationOptions: { trusted: vscode.workspace.isTrusted, hotspots: true, jobs: true, announce: false },
      markdown: { isTrusted: false, supportHtml: false },
      progressOnInitialization: true,
      middleware: {
        executeCommand: async (command, args, next): Promise<unknown> => {
          const own = this.instead.get(command);
          return own !== undefined ? own(...(args as unknown[])) : (await refused(command)) ? undefined : next(command, args);
        },
        window: { showDocument: showIn(this.pages) },
        handleWorkDoneProgress: progress((token) => {
          void this.client?.sendNotification("window/workDoneProgress/cancel", { token });
        }),
        workspace: {
          // Only what somebody chose goes to the server: a default sent along would hide the folder's optimas.toml.
          configuration: (params) =>
            params.items.map(({ section, scopeUri }) => chosenSettings(section, scopeUri ? vscode.Uri.parse(scopeUri) : undefined)),
        },
      },
    };
  }

  /** What the server knows now; nothing while it is not running. */
  async hotspots(): Promise<Hotspots> {
    if (this.client?.isRunning() !== true) {
      return EMPTY;
    }
    return ((await this.execute(HOTSPOTS_COMMAND)) as Hotspots | null) ?? EMPTY;
  }

  /** Runs a command of the server and answers what it answers. */
  async execute(command: string, ...args: unknown[]): Promise<unknown> {
    return this.client?.sendRequest("workspace/executeCommand", { command, arguments: args });
  }

  /** Asks for the hotspots again, once for all the calls made within a tenth of a second. */
  refreshSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.hotspots().then(
        (answer) => {
          this.changes.fire(answer);
        },
        (error: unknown) => {
          this.output.error(`hotspots could not be asked for: ${String(error)}`);
        },
      );
    }, 100);
  }

  private async repair(verdict: Exclude<Verdict, { kind: "ready" }>): Promise<void> {
    if (await offerFix(this.context, verdict)) {
      await this.restart();
    }
  }

  private warnOfOtherVersion(verdict: Extract<Verdict, { kind: "ready" }>): void {
    const { version } = this.context.extension.packageJSON as { version: string };
    const series = (text: string): string => text.split(".").slice(0, 2).join(".");
    if (series(version) !== series(verdict.server)) {
      this.output.warn(
        `the extension is ${version} and the server ${verdict.server}; run “Optimas: Install the Server…” to make them one version`,
      );
    }
  }

  private fail(reason: string): void {
    this.output.error(reason);
    this.reason = reason;
    this.enter("failed");
    this.changes.fire(EMPTY);
  }

  private enter(phase: Phase): void {
    if (phase !== "failed") {
      this.reason = "";
    }
    this.phase = phase;
    void vscode.commands.executeCommand("setContext", "optimas.running", phase === "running");
    this.phases.fire(phase);
  }

  private async stop(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    clearTimeout(this.timer);
    if (client !== undefined) {
      await client.dispose(2000);
    }
  }

  /** Ends the server; the extension host waits for this when the window closes. */
  async end(): Promise<void> {
    await this.stop();
  }

  dispose(): void {
    this.phases.dispose();
    this.changes.dispose();
    this.lists.dispose();
  }
}
