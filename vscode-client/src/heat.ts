// Heat: bars in the gutter and marks in the overview ruler on sampled lines, by their share of the report's GPU time.
import * as vscode from "vscode";
import type { Hotspots } from "./protocol";

/** From this share of GPU time on (0 to 1) a line has heat 1, 2, … 5; a bar's width says the same as its colour. */
const STEPS = [0.005, 0.02, 0.05, 0.1, 0.25] as const;

/** Hot lines (heat 4 and 5) are wide in the overview ruler, the others narrow: told by more than a colour there, too. */
const { Left, Full } = vscode.OverviewRulerLane;
const LANES = [Left, Left, Left, Full, Full] as const;

const ON = "gutterAndRuler";

type Where = typeof ON | "gutter" | "ruler" | "off";

export class Heat implements vscode.Disposable {
  private types: vscode.TextEditorDecorationType[] = [];
  private lines = new Map<string, Hotspots["heat"][number]["lines"]>();
  private readonly disposables: vscode.Disposable[] = [];

  constructor(private readonly context: vscode.ExtensionContext) {
    this.disposables.push(
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.paint();
      }),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("optimas.heat")) {
          this.rebuild();
        }
      }),
    );
    this.rebuild();
  }

  show(hotspots: Hotspots): void {
    this.lines = new Map(hotspots.heat.map((file) => [vscode.Uri.parse(file.uri, true).toString(), file.lines]));
    this.paint();
  }

  /** Off when on, and back to what it was; kept in the user's settings. */
  async toggle(): Promise<void> {
    const before = this.context.globalState.get<Where>("heat", ON);
    const now = where();
    await this.context.globalState.update("heat", now === "off" ? before : now);
    await vscode.workspace
      .getConfiguration("optimas")
      .update("heat", now === "off" ? before : "off", vscode.ConfigurationTarget.Global);
  }

  private rebuild(): void {
    for (const type of this.types) {
      type.dispose();
    }
    const place = where();
    const gutter = place === "gutter" || place === ON;
    const ruler = place === "ruler" || place === ON;
    this.types =
      place === "off"
        ? []
        : LANES.map((lane, index) => {
            const level = String(index + 1);
            return vscode.window.createTextEditorDecorationType({
              isWholeLine: true,
              ...(gutter && {
                gutterIconPath: vscode.Uri.joinPath(this.context.extensionUri, "media", `heat${level}.svg`),
                gutterIconSize: "contain",
              }),
              ...(ruler && {
                overviewRulerColor: new vscode.ThemeColor(`optimas.heat${level}`),
                overviewRulerLane: lane,
              }),
            });
          });
    this.paint();
  }

  private paint(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const lines = this.lines.get(editor.document.uri.toString()) ?? [];
      this.types.forEach((type, index) => {
        const ranges = lines
          .filter(([line, share]) => line < editor.document.lineCount && level(share) === index)
          .map(([line]) => editor.document.lineAt(line).range);
        editor.setDecorations(type, ranges);
      });
    }
  }

  dispose(): void {
    for (const disposable of [...this.types, ...this.disposables]) {
      disposable.dispose();
    }
  }
}

function where(): Where {
  return vscode.workspace.getConfiguration("optimas").get<Where>("heat", ON);
}

/** Whether heat is shown anywhere. */
export function heated(): boolean {
  return where() !== "off";
}

/** Index into STEPS of the step that `share` reaches; -1 below the first. */
export function level(share: number): number {
  return STEPS.findLastIndex((step) => share >= step);
}
