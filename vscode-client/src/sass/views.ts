// Machine code as read-only documents beside the source: opened, asked for again when something changed, closed.
import * as vscode from "vscode";
import type { Hotspots } from "../protocol";
import type { Phase } from "../session";
import { Indexed, type MachineCode } from "./code";

export const SCHEME = "optimas-sass";

/** A source may change with every key; its lines are asked for once the keys rest (ms). */
const REST = 300;

export interface View {
  readonly uri: vscode.Uri;
  /** What the server is asked with. */
  readonly source: string;
  readonly mangled: string;
  /** Nothing while it cannot be had; then the text says why. */
  code: Indexed | undefined;
  text: string;
  /** It was not asked for again when something changed, because nobody saw it. */
  behind: boolean;
}

type Execute = (command: string, ...args: unknown[]) => Promise<unknown>;

export class Views implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly updates = new vscode.EventEmitter<View>();
  /** What belongs to the lines of a view is to be drawn anew. */
  readonly onUpdate = this.updates.event;
  private readonly views = new Map<string, View>();
  private readonly disposables: vscode.Disposable[];
  private asked = 0;
  private readonly newest = new Map<View, number>();
  private timer: NodeJS.Timeout | undefined;
  private readonly edited = new Set<string>();

  constructor(private readonly execute: Execute) {
    this.disposables = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidCloseTextDocument((document) => {
        this.views.delete(document.uri.toString());
      }),
      vscode.workspace.onDidChangeTextDocument((change) => {
        this.editedSource(change.document.uri.toString());
      }),
      vscode.workspace.onDidOpenTextDocument((document) => {
        this.editedSource(document.uri.toString());
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        for (const view of this.all.filter((each) => each.behind && seen(each))) {
          void this.again(view);
        }
      }),
    ];
  }

  get all(): readonly View[] {
    return [...this.views.values()];
  }

  at(uri: vscode.Uri | undefined): View | undefined {
    return uri === undefined ? undefined : this.views.get(uri.toString());
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return (this.at(uri) ?? this.reopened(uri)).text;
  }

  /** The document of a kernel, the costliest with code from `source` if `mangled` is null; fails with the server's words. */
  async open(source: string, mangled: string | null, hotspots: Hotspots): Promise<View> {
    const code = await this.ask(source, mangled);
    const uri = uriOf(code, source, hotspots);
    const known = this.all.find((view) => ofSame(view.uri, uri));
    const view = known ?? { uri, source, mangled: code.mangled, code: undefined, text: "", behind: false };
    this.views.set(view.uri.toString(), view);
    this.newest.delete(view);
    this.show(view, new Indexed(code));
    return view;
  }

  /** A tab that the editor opened again by itself: its URI says what to ask for. */
  private reopened(uri: vscode.Uri): View {
    const [, mangled, source] = JSON.parse(uri.query) as [string, string, string];
    const view: View = { uri, source, mangled, code: undefined, text: "The machine code is asked for.\n", behind: false };
    this.views.set(uri.toString(), view);
    void this.again(view);
    return view;
  }

  /** Asks for everything that is open again. */
  refresh(): void {
    for (const view of this.all) {
      void this.again(view);
    }
  }

  /** Nothing stale is shown while there is no server to ask. */
  follow(phase: Phase, reason: string): void {
    if (phase !== "running") {
      for (const view of this.all) {
        this.newest.delete(view);
        this.lose(view, phase === "starting" ? "The Optimas server is starting." : `The Optimas server is not running. ${reason}`);
      }
    }
  }

  private editedSource(uri: string): void {
    if (this.all.some((view) => view.code?.uris.has(uri) === true)) {
      this.edited.add(uri);
      clearTimeout(this.timer);
      this.timer = setTimeout(() => {
        const views = this.all.filter((view) => [...this.edited].some((one) => view.code?.uris.has(one) === true));
        this.edited.clear();
        for (const view of views) {
          void this.again(view);
        }
      }, REST);
    }
  }

  private async again(view: View): Promise<void> {
    view.behind = !seen(view) && view.code !== undefined;
    if (view.behind) {
      return;
    }
    const number = ++this.asked;
    this.newest.set(view, number);
    let code: MachineCode | undefined;
    let why = "";
    try {
      code = await this.ask(view.source, view.mangled);
    } catch (error) {
      why = error instanceof Error ? error.message : String(error);
    }
    if (this.newest.get(view) !== number) {
      return; // asked again meanwhile, or the server is gone
    }
    this.newest.delete(view);
    if (code === undefined) {
      this.lose(view, why);
    } else {
      this.show(view, new Indexed(code));
    }
  }

  private async ask(source: string, mangled: string | null): Promise<MachineCode> {
    const answer = (await this.execute("optimas.machineCode", source, mangled)) as MachineCode | null | undefined;
    if (answer?.schema !== "optimas.sass/1") {
      throw new Error("the server did not answer with machine code");
    }
    const spelt = (uri: string | null): string | null => (uri === null ? null : vscode.Uri.parse(uri, true).toString());
    return { ...answer, sources: answer.sources.map((each) => ({ ...each, uri: spelt(each.uri) })) };
  }

  private show(view: View, code: Indexed): void {
    view.code = code;
    this.write(view, code.text);
  }

  private lose(view: View, why: string): void {
    view.code = undefined;
    this.write(view, `The machine code cannot be shown now.\n${why.trim()}\n`);
  }

  private write(view: View, text: string): void {
    const same = view.text === text;
    view.text = text;
    if (!same) {
      this.changed.fire(view.uri);
    }
    this.updates.fire(view);
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const disposable of [...this.disposables, this.changed, this.updates]) {
      disposable.dispose();
    }
  }
}

function seen(view: View): boolean {
  return vscode.window.visibleTextEditors.some((editor) => editor.document.uri.toString() === view.uri.toString());
}

/** One URI a kernel and report. The tab shows the last part of the path; the part before tells instantiations apart. */
function uriOf(code: MachineCode, source: string, hotspots: Hotspots): vscode.Uri {
  const report = hotspots.reports.find((each) => each.shown && each.name === code.report && each.kernels.some((kernel) => kernel.mangled === code.mangled));
  const base = report?.kernels.find((kernel) => kernel.mangled === code.mangled)?.baseName ?? code.kernel;
  const part = (name: string): string => name.replaceAll(/[/\\]/g, " ");
  return vscode.Uri.from({
    scheme: SCHEME,
    path: `/${part(code.kernel)}/${part(base)} (machine code)`,
    query: JSON.stringify([report?.path ?? code.report, code.mangled, source]),
  });
}

/** Whether two URIs are about one kernel of one report, whatever file they were asked from. */
function ofSame(one: vscode.Uri, other: vscode.Uri): boolean {
  const [[report, kernel], [otherReport, otherKernel]] = [one, other].map((uri) => JSON.parse(uri.query) as string[]) as [string[], string[]];
  return report === otherReport && kernel === otherKernel;
}
