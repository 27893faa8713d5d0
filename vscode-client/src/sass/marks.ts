// How lines look that belong together: the line itself, what it waits for, who waits for it; and the heat of instructions.
import * as vscode from "vscode";
import { heated, level } from "../heat";
import { percent } from "../protocol";
import type { Indexed, Wait } from "./code";

const color = (name: string): vscode.ThemeColor => new vscode.ThemeColor(`optimas.${name}`);

/** The bar at the left differs in its style, too: not only by colour. */
function mark(name: string, style: string, lane: vscode.OverviewRulerLane): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: color(`${name}Background`),
    borderColor: color(name),
    borderStyle: style,
    borderWidth: "0 0 0 3px",
    overviewRulerColor: color(name),
    overviewRulerLane: lane,
  });
}

/** Lines of one text, from 0: those that the cursor is about, and the other ends of their waits with the words for each. */
export interface Lines {
  readonly own: readonly number[];
  readonly causes: ReadonlyMap<number, string>;
  readonly waiting: ReadonlyMap<number, string>;
}

export const NOTHING: Lines = { own: [], causes: new Map(), waiting: new Map() };

/** What stands behind a line that the cursor's instructions wait for, or that waits for them. */
export function wordsAt(code: Indexed, wait: Wait, side: "causes" | "waiting"): string {
  const words = side === "causes" ? "◀ cause of" : "◀ waits for it:";
  return `${words} ${percent(code.share(wait.samples))} of all stalls (${wait.reasons.join(", ")})`;
}

/** The marks of lines that the cursor is about, in either text. */
export class Marks implements vscode.Disposable {
  private readonly line = mark("inStep", "solid", vscode.OverviewRulerLane.Full);
  private readonly cause = mark("cause", "double", vscode.OverviewRulerLane.Center);
  private readonly waiting = mark("waiting", "dotted", vscode.OverviewRulerLane.Right);
  private readonly words = vscode.window.createTextEditorDecorationType({});
  private readonly heat = [1, 2, 3, 4, 5].map((step) =>
    vscode.window.createTextEditorDecorationType({ isWholeLine: true, backgroundColor: color(`instructionHeat${String(step)}`) }),
  );
  private readonly never = vscode.window.createTextEditorDecorationType({ opacity: "0.6" });

  /** In machine code the words stand right behind the instruction, where a narrow window still shows them. */
  show(editor: vscode.TextEditor, { own, causes, waiting }: Lines, code?: Indexed): void {
    const { document } = editor;
    const inside = (line: number): boolean => line < document.lineCount;
    const range = (line: number): vscode.Range => document.lineAt(line).range;
    const behind = (line: number): vscode.Range => (code === undefined ? range(line) : document.validateRange(new vscode.Range(line, code.sassIn(line)[0], line, code.sassIn(line)[1])));
    const color = new vscode.ThemeColor("editorCodeLens.foreground");
    editor.setDecorations(this.line, own.filter(inside).map(range));
    editor.setDecorations(this.cause, [...causes.keys()].filter(inside).map(range));
    editor.setDecorations(this.waiting, [...waiting.keys()].filter(inside).map(range));
    const words = [...causes, ...waiting].filter(([line]) => inside(line));
    editor.setDecorations(
      this.words,
      words.map(([line, contentText]) => ({ range: behind(line), renderOptions: { after: { contentText, color, margin: "0 0 0 2em" } } })),
    );
  }

  /** Heat behind the instructions, by their share of the kernel's stalled samples; what never ran is dimmed. */
  paint(editor: vscode.TextEditor, code: Indexed | undefined): void {
    const levels: vscode.Range[][] = this.heat.map(() => []);
    const never: vscode.Range[] = [];
    for (const [row, line] of code?.lineOf ?? []) {
      const about = code?.code.rows[row];
      if (code === undefined || about === undefined || line >= editor.document.lineCount) {
        continue;
      }
      const { range } = editor.document.lineAt(line);
      levels[level(code.share(about.stalled))]?.push(range);
      if (about.executed === 0) {
        never.push(range);
      }
    }
    this.heat.forEach((type, step) => {
      editor.setDecorations(type, heated() ? (levels[step] ?? []) : []);
    });
    editor.setDecorations(this.never, never);
  }

  dispose(): void {
    for (const type of [this.line, this.cause, this.waiting, this.words, this.never, ...this.heat]) {
      type.dispose();
    }
  }
}
