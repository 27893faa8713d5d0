// Keeps source and machine code in step: the cursor in one marks its lines, and what they wait for, in both.
import * as vscode from "vscode";
import type { Indexed, Wait } from "./code";
import { Marks, NOTHING, wordsAt, type Lines } from "./marks";
import { SCHEME, type Views } from "./views";

/** In a source at most so many lines are marked as other ends of waits: it is read for other reasons, too. */
const IN_SOURCE = 3;

type Side = keyof Omit<Lines, "own">;

/**
 * Nothing here moves a cursor, and only a cursor that moved brings something into view in the other text: so neither
 * text can chase the other.
 */
export class Step implements vscode.Disposable {
  private readonly marks = new Marks();
  private readonly disposables: vscode.Disposable[];
  /** The source or machine code that the cursor was in last. */
  private from: vscode.TextEditor | undefined;
  /** The cursor's line in machine code, while there was some; and where it was left when the text went. */
  private readonly cursors = new WeakMap<vscode.TextEditor, number>();
  private readonly left = new Map<string, number>();

  constructor(private readonly views: Views) {
    const follow = (editor: vscode.TextEditor | undefined, reveal: boolean): void => {
      if (editor !== undefined && this.concerns(editor)) {
        this.from = editor;
        this.draw(reveal);
      }
    };
    const everything = (): void => {
      this.paint();
      this.draw(false);
    };
    this.disposables = [
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
        if (this.views.at(textEditor.document.uri)?.code !== undefined) {
          this.cursors.set(textEditor, textEditor.selection.active.line);
        }
        follow(textEditor === vscode.window.activeTextEditor ? textEditor : undefined, true);
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        follow(editor, false);
      }),
      vscode.window.onDidChangeVisibleTextEditors(everything),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.scheme === SCHEME) {
          this.comeBack(document);
          everything();
        }
      }),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("optimas.heat")) {
          this.paint();
        }
      }),
      views.onUpdate(everything),
    ];
  }

  /** Draws everything for the cursor of `editor`, and brings what belongs to it into view. */
  start(editor: vscode.TextEditor | undefined): void {
    this.from = editor ?? this.from;
    this.paint();
    this.draw(true);
  }

  /** Puts the cursor where it was before the text was replaced by a sentence for a while. */
  private comeBack(document: vscode.TextDocument): void {
    const view = this.views.at(document.uri);
    for (const editor of vscode.window.visibleTextEditors.filter((each) => each.document === document)) {
      const line = this.left.get(document.uri.toString());
      if (view?.code === undefined) {
        this.left.set(document.uri.toString(), line ?? this.cursors.get(editor) ?? 0);
        editor.revealRange(new vscode.Range(0, 0, 0, 0)); // the sentence is short, the text was long
      } else if (line !== undefined) {
        this.left.delete(document.uri.toString());
        const at = new vscode.Position(Math.min(line, document.lineCount - 1), 0);
        editor.selection = new vscode.Selection(at, at);
        editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
      }
    }
  }

  private concerns(editor: vscode.TextEditor): boolean {
    const uri = editor.document.uri.toString();
    return this.views.all.some((view) => view.uri.toString() === uri || view.code?.uris.has(uri) === true);
  }

  private paint(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.scheme === SCHEME) {
        this.marks.paint(editor, this.views.at(editor.document.uri)?.code);
      }
    }
  }

  private draw(reveal: boolean): void {
    const visible = vscode.window.visibleTextEditors;
    const from = visible.includes(this.from as vscode.TextEditor) ? this.from : undefined;
    const drawn = new Map<vscode.TextEditor, Lines>(visible.map((editor) => [editor, NOTHING]));
    for (const editor of visible) {
      const code = this.views.at(editor.document.uri)?.code;
      if (from === undefined || code === undefined) {
        continue;
      }
      if (from.document.uri.scheme !== SCHEME) {
        const { uri } = from.document;
        const rows = code.rowsOfSource(uri.toString(), from.selection.active.line + 1);
        const about = new About(code, rows);
        drawn.set(editor, about.inCode());
        drawn.set(from, joined(drawn.get(from) ?? NOTHING, about.inSource(uri.toString(), from.selection.active.line)));
        const heaviest = code.heaviest(rows);
        bring(reveal, editor, heaviest === undefined ? about.inCode().own : [code.lineOf.get(heaviest) ?? 0]);
      } else if (from === editor) {
        const line = from.selection.active.line;
        const about = new About(code, code.rowsOfText(line));
        drawn.set(editor, about.inCode());
        const places = code.placesOfText(line);
        for (const source of visible.filter((each) => each.document.uri.scheme !== SCHEME)) {
          const uri = source.document.uri.toString();
          const own = places.filter((place) => place.uri === uri).map((place) => place.line - 1);
          drawn.set(source, { ...about.inSource(uri, undefined), own });
        }
        const [inner] = places.filter((place) => visible.some((each) => each.document.uri.toString() === place.uri));
        for (const source of visible.filter((each) => each.document.uri.toString() === inner?.uri)) {
          bring(reveal, source, inner === undefined ? [] : [inner.line - 1]);
        }
      }
    }
    for (const [editor, lines] of drawn) {
      this.marks.show(editor, lines, this.views.at(editor.document.uri)?.code);
    }
  }

  dispose(): void {
    for (const disposable of [...this.disposables, this.marks]) {
      disposable.dispose();
    }
  }
}

/** Instructions that the cursor is about, with the other ends of their waits, as lines of either text. */
class About {
  private readonly waits: Readonly<Record<Side, ReadonlyMap<number, Wait>>>;

  constructor(
    private readonly code: Indexed,
    private readonly rows: readonly number[],
  ) {
    this.waits = { causes: code.waits(rows, "waits_for"), waiting: code.waits(rows, "awaited_by") };
  }

  inCode(): Lines {
    const textLine = (row: number): number => this.code.lineOf.get(row) ?? 0;
    const marked = (side: Side): Map<number, string> =>
      new Map([...this.waits[side]].map(([row, wait]) => [textLine(row), this.words(wait, side)]));
    return { own: this.rows.map(textLine), causes: marked("causes"), waiting: marked("waiting") };
  }

  /** The lines of a source that the other ends come from; not `but`, on which the cursor is. */
  inSource(uri: string, but: number | undefined): Lines {
    const marked = (side: Side): Map<number, string> => {
      const sums = new Map<number, Wait>();
      for (const [row, wait] of this.waits[side]) {
        const [place] = (this.code.code.rows[row]?.places ?? []).flatMap((each) => this.code.here(each) ?? []);
        if (place?.uri === uri && place.line - 1 !== but) {
          const sum = sums.get(place.line - 1) ?? { samples: 0, reasons: [] };
          const reasons = [...new Set([...sum.reasons, ...wait.reasons])];
          sums.set(place.line - 1, { samples: sum.samples + wait.samples, reasons });
        }
      }
      const most = [...sums].sort(([, a], [, b]) => b.samples - a.samples).slice(0, IN_SOURCE);
      return new Map(most.map(([line, wait]) => [line, this.words(wait, side)]));
    };
    return { own: but === undefined || this.rows.length === 0 ? [] : [but], causes: marked("causes"), waiting: marked("waiting") };
  }

  private words(wait: Wait, side: Side): string {
    return wordsAt(this.code, wait, side);
  }
}

function joined(one: Lines, other: Lines): Lines {
  return {
    own: [...one.own, ...other.own],
    causes: new Map([...one.causes, ...other.causes]),
    waiting: new Map([...one.waiting, ...other.waiting]),
  };
}

/** Reveals the first of `lines` (from 0) if none of them is in view. */
function bring(reveal: boolean, editor: vscode.TextEditor, lines: readonly number[]): void {
  const [first] = lines;
  const inView = lines.some((line) => editor.visibleRanges.some((range) => range.start.line <= line && line <= range.end.line));
  if (reveal && first !== undefined && !inView) {
    editor.revealRange(new vscode.Range(first, 0, first, 0), vscode.TextEditorRevealType.InCenter);
  }
}
