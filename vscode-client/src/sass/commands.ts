// The commands about machine code: show a kernel's, and go from an instruction to its source, its cause, who waits for it.
import * as vscode from "vscode";
import { kernelAt } from "../pointing";
import { EMPTY, percent, type Hotspots, type Kernel } from "../protocol";
import type { Session } from "../session";
import { brief, type Edge } from "./code";
import { reading } from "./reading";
import { Step } from "./step";
import { SCHEME, Views, type View } from "./views";

export class MachineCodes implements vscode.Disposable {
  private readonly views: Views;
  private readonly step: Step;
  private readonly disposables: vscode.Disposable[];
  private hotspots: Hotspots = EMPTY;
  /** Where the jumps along waits began, the last one last: the editor's own history leaves out jumps of a few lines. */
  private trail: { readonly uri: string; readonly line: number }[] = [];

  constructor(session: Session) {
    this.views = new Views((command, ...args) => session.execute(command, ...args));
    this.step = new Step(this.views);
    session.instead.set("optimas.openMachineCode", (source, mangled) => this.open(String(source), typeof mangled === "string" ? mangled : null));
    this.disposables = [
      ...reading(this.views),
      session.onHotspots((now) => {
        this.hotspots = now;
        const uris = now.heat.map((file) => vscode.Uri.parse(file.uri, true));
        // A window on another machine names the same file by another scheme; its path is the same.
        const files = [...new Set(uris.flatMap((uri) => [uri.fsPath, uri.path]))];
        void vscode.commands.executeCommand("setContext", "optimas.profiledFiles", files);
        if (session.phase === "running") {
          this.views.refresh();
        }
      }),
      session.onPhase((phase) => {
        this.views.follow(phase, session.reason);
      }),
    ];
  }

  /** Beside the source: the kernel of a row of the tree, or one with code from the file at hand. */
  async show(given: unknown): Promise<void> {
    const row = given as { kind?: string; kernel?: Kernel } | undefined;
    if (row?.kind === "kernel" && row.kernel !== undefined) {
      const [place] = [row.kernel.place, ...row.kernel.findings.map((finding) => finding.place)].filter((each) => each !== null);
      return place === undefined
        ? tell(`the source of ${row.kernel.baseName} is not in this workspace`)
        : this.open(place.uri, row.kernel.mangled);
    }
    const uri = given instanceof vscode.Uri ? given : vscode.window.activeTextEditor?.document.uri;
    const view = this.views.at(uri);
    if (uri === undefined || (view === undefined && !this.profiled(uri))) {
      const about = await kernelAt(undefined, this.hotspots);
      return about === undefined ? undefined : this.open(about.uri, about.kernel.mangled);
    }
    const source = view?.source ?? uri.toString();
    const mangled = await this.choose(source, view?.mangled);
    return mangled === undefined ? undefined : this.open(source, mangled);
  }

  /** Shows it; a failure is one sentence for a person. */
  async open(source: string, mangled: string | null): Promise<void> {
    const from = vscode.window.activeTextEditor;
    try {
      const view = await this.views.open(source, mangled, this.hotspots);
      const document = await vscode.workspace.openTextDocument(view.uri);
      const viewColumn = columnOf(view) ?? vscode.ViewColumn.Beside;
      const preserveFocus = from?.document.uri.scheme !== SCHEME; // from the source one goes on reading the source
      const shown = vscode.window.visibleTextEditors.some((each) => each.document === document);
      const editor = await vscode.window.showTextDocument(document, { viewColumn, preserveFocus, preview: false });
      if (!shown) {
        place(editor, view, from);
      }
      this.step.start(from);
    } catch (error) {
      void vscode.window.showErrorMessage(`Optimas: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** From an instruction or heading to its source line: the innermost place that is here. */
  async toSource(uri?: string, line?: number): Promise<void> {
    const at = this.at(uri, line);
    const [place] = at === undefined ? [] : (at.view.code?.placesOfText(at.line) ?? []);
    if (at === undefined || place === undefined) {
      return tell("no line of a file in this workspace is known for this");
    }
    const target = vscode.Uri.parse(place.uri, true);
    const open = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === place.uri);
    const own = columnOf(at.view);
    const viewColumn = open?.viewColumn ?? (own === undefined || own > vscode.ViewColumn.One ? vscode.ViewColumn.One : vscode.ViewColumn.Beside);
    const document = await vscode.workspace.openTextDocument(target);
    const text = document.lineAt(Math.min(place.line, document.lineCount) - 1);
    const start = new vscode.Position(text.lineNumber, text.firstNonWhitespaceCharacterIndex);
    await vscode.window.showTextDocument(document, { viewColumn, selection: new vscode.Range(start, start) });
  }

  /** To the other end of the heaviest wait of the instruction at the cursor. */
  async toEdge(side: "waits_for" | "awaited_by"): Promise<void> {
    const at = this.at();
    const row = at === undefined ? null : (at.view.code?.code.listing[at.line]?.row ?? null);
    const edge = row === null ? undefined : at?.view.code?.code.rows[row]?.[side][0];
    if (at === undefined || row === null) {
      return tell("put the cursor on an instruction");
    }
    if (edge === undefined) {
      return tell(side === "waits_for" ? "nothing is known that this instruction waits for" : "no instruction is known to wait for this one");
    }
    return this.toRow(at.view.uri.toString(), edge.row);
  }

  /** Both sides of the waits of the instruction at the cursor, to choose from. */
  async chooseEdge(): Promise<void> {
    const at = this.at();
    const code = at?.view.code;
    const number = at === undefined ? null : (code?.code.listing[at.line]?.row ?? null);
    const row = number === null ? undefined : code?.code.rows[number];
    if (at === undefined || code === undefined || row === undefined) {
      return tell("put the cursor on an instruction");
    }
    const item = (edge: Edge, words: string): vscode.QuickPickItem & { row: number } => {
      const other = code.code.rows[edge.row];
      const place = other?.places[0];
      return {
        label: `${words} ${other === undefined ? "?" : brief(other)}`,
        description: place === undefined ? "" : code.name(place),
        detail: `${percent(code.share(edge.samples))} of the kernel's stalls, ${edge.reason}`,
        row: edge.row,
      };
    };
    const items = [...row.waits_for.map((edge) => item(edge, "waits for")), ...row.awaited_by.map((edge) => item(edge, "is waited for by"))];
    if (items.length === 0) {
      return tell("no wait of this instruction is known");
    }
    const picked = await vscode.window.showQuickPick(items, { placeHolder: `Waits of ${brief(row)}`, matchOnDetail: true, matchOnDescription: true });
    return picked === undefined ? undefined : this.toRow(at.view.uri.toString(), picked.row);
  }

  /** To an instruction; `back` leads to where it was asked from. */
  async toRow(uri: string, row: number): Promise<void> {
    const from = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri);
    const line = this.at(uri, 0)?.view.code?.lineOf.get(row);
    if (line === undefined) {
      return;
    }
    if (from !== undefined) {
      this.trail.push({ uri, line: from.selection.active.line });
    }
    await this.toLine(uri, line);
  }

  /** Back along the jumps that were made; after the first of them, back as anywhere in the editor. */
  async back(): Promise<void> {
    const last = this.trail.pop();
    await (last === undefined || this.at(last.uri, 0) === undefined
      ? vscode.commands.executeCommand("workbench.action.goBack")
      : this.toLine(last.uri, last.line));
  }

  private async toLine(uri: string, line: number): Promise<void> {
    const view = this.at(uri, line)?.view;
    if (view === undefined) {
      return;
    }
    const document = await vscode.workspace.openTextDocument(view.uri);
    const place = new vscode.Position(Math.min(line, document.lineCount - 1), view.code?.sassIn(line)[0] ?? 0);
    const editor = await vscode.window.showTextDocument(document, { viewColumn: columnOf(view) ?? vscode.ViewColumn.Active, preview: false });
    const goTo = "editor.action.goToLocations"; // a jump, for the editor's own history
    await vscode.commands.executeCommand(goTo, view.uri, editor.selection.active, [new vscode.Location(view.uri, place)], "goto", "");
  }

  private profiled(uri: vscode.Uri): boolean {
    return this.hotspots.heat.some((file) => same(file.uri, uri.toString()));
  }

  /** The kernel that is meant among those with findings or a definition in the file; null: the server's choice. */
  private async choose(source: string, but: string | undefined): Promise<string | null | undefined> {
    const kernels = this.hotspots.reports
      .filter((report) => report.shown)
      .flatMap((report) => report.kernels)
      .filter((kernel) => [kernel.place, ...kernel.findings.map((finding) => finding.place)].some((place) => same(place?.uri, source)));
    const cursor = vscode.window.activeTextEditor?.selection.active.line ?? 0;
    const above = (kernel: Kernel): number => (same(kernel.place?.uri, source) && (kernel.place?.line ?? 0) <= cursor ? (kernel.place?.line ?? 0) : -1);
    const [only, ...others] = kernels;
    if (only === undefined || others.length === 0) {
      return only?.mangled ?? null;
    }
    const ordered = [...kernels].sort((a, b) => (but === undefined ? above(b) - above(a) : 0) || (b.share ?? 0) - (a.share ?? 0));
    const items = ordered.map((kernel) => ({
      label: kernel.baseName,
      description: [kernel.mangled === but ? "shown" : "", kernel.share === null ? "" : `${percent(kernel.share)} of GPU time`].filter((part) => part !== "").join(", "),
      detail: kernel.name,
      mangled: kernel.mangled,
    }));
    return (await vscode.window.showQuickPick(items, { placeHolder: "Machine code of which kernel?", matchOnDetail: true }))?.mangled;
  }

  /** The view and text line that are meant: those of the cursor unless they are given. */
  private at(uri?: string, line?: number): { view: View; line: number } | undefined {
    const editor = vscode.window.activeTextEditor;
    const view = this.views.at(typeof uri === "string" ? vscode.Uri.parse(uri, true) : editor?.document.uri);
    const at = typeof line === "number" ? line : editor?.selection.active.line;
    return view === undefined || at === undefined ? undefined : { view, line: at };
  }

  dispose(): void {
    for (const disposable of [...this.disposables, this.step, this.views]) {
      disposable.dispose();
    }
  }
}

/** Puts the cursor on the costliest instruction of the source line that it was asked from, or else of the kernel. */
function place(editor: vscode.TextEditor, { code }: View, from: vscode.TextEditor | undefined): void {
  const rows = from === undefined ? [] : (code?.rowsOfSource(from.document.uri.toString(), from.selection.active.line + 1) ?? []);
  const row = code?.heaviest(rows) ?? rows[0] ?? code?.heaviest([...code.lineOf.keys()]);
  const line = row === undefined ? undefined : code?.lineOf.get(row);
  if (line !== undefined) {
    const start = new vscode.Position(line, 0);
    editor.selection = new vscode.Selection(start, start);
    editor.revealRange(new vscode.Range(start, start), vscode.TextEditorRevealType.InCenter);
  }
}

/** Where the view is seen, or else where its tab is. */
function columnOf(view: View): vscode.ViewColumn | undefined {
  const uri = view.uri.toString();
  const seen = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri)?.viewColumn;
  const inTab = (tab: vscode.Tab): boolean => tab.input instanceof vscode.TabInputText && tab.input.uri.scheme === SCHEME;
  const groups = vscode.window.tabGroups.all;
  const exact = groups.find((group) => group.tabs.some((tab) => inTab(tab) && (tab.input as vscode.TabInputText).uri.toString() === uri));
  return seen ?? exact?.viewColumn ?? groups.find((group) => group.tabs.some(inTab))?.viewColumn;
}

function same(one: string | undefined, other: string): boolean {
  return one !== undefined && vscode.Uri.parse(one, true).toString() === vscode.Uri.parse(other, true).toString();
}

/** Says it, and waits for no answer. */
function tell(words: string): Promise<void> {
  void vscode.window.showInformationMessage(`Optimas: ${words}.`);
  return Promise.resolve();
}
