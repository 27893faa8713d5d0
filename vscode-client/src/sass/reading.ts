// What the editor knows to say about machine code: hovers, links to the source, folding and an outline by source lines.
import * as vscode from "vscode";
import { percent } from "../protocol";
import { brief, type Edge, type Indexed, type Row } from "./code";
import { SCHEME, type Views } from "./views";

export const LANGUAGE = "optimas-sass";
export const GO_TO_ROW = "optimas.client.machineCodeRow";
export const GO_TO_SOURCE = "optimas.client.machineCodeSource";

const KINDS: Readonly<Record<Edge["kind"], string>> = {
  raw: "its value is not there yet",
  war: "its operand is not read yet",
  sync: "a barrier or fence",
  self: "the instruction itself",
  drain: "the last stores are not done",
};

/** Providers of the language; `views` says what a line is about. */
export function reading(views: Views): vscode.Disposable[] {
  const selector: vscode.DocumentSelector = { scheme: SCHEME };
  const codeOf = (document: vscode.TextDocument): Indexed | undefined => views.at(document.uri)?.code;
  return [
    vscode.languages.registerHoverProvider(selector, {
      provideHover(document, { line }) {
        const code = codeOf(document);
        const number = code?.code.listing[line]?.row ?? null;
        const row = number === null ? undefined : code?.code.rows[number];
        return code === undefined || row === undefined
          ? undefined
          : new vscode.Hover(hover(code, row, document.uri), document.lineAt(line).range);
      },
    }),
    vscode.languages.registerDocumentLinkProvider(selector, {
      provideDocumentLinks: (document) => links(document, codeOf(document)),
    }),
    vscode.languages.registerFoldingRangeProvider(selector, {
      provideFoldingRanges: (document) =>
        groups(codeOf(document)).map(({ first, last }) => new vscode.FoldingRange(first, Math.min(last, document.lineCount - 1))),
    }),
    vscode.languages.registerDocumentSymbolProvider(
      selector,
      {
        provideDocumentSymbols: (document) =>
          groups(codeOf(document)).map(({ first, last }) => {
            const heading = document.lineAt(first);
            const end = document.lineAt(Math.min(last, document.lineCount - 1)).range.end;
            return new vscode.DocumentSymbol(heading.text.trim(), "", vscode.SymbolKind.Field, new vscode.Range(heading.range.start, end), heading.range);
          }),
      },
      { label: "Source lines" },
    ),
  ];
}

function command(name: string, title: string, ...args: unknown[]): string {
  return `[${title}](command:${name}?${encodeURIComponent(JSON.stringify(args))})`;
}

function hover(code: Indexed, row: Row, uri: vscode.Uri): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  text.isTrusted = { enabledCommands: [GO_TO_ROW] };
  text.appendCodeblock(`0x${row.offset.toString(16).padStart(4, "0")}  ${row.sass}`, LANGUAGE);
  const facts = [
    row.places.map((place) => code.name(place)).join(", inlined into "),
    row.executed === null ? "" : row.executed === 0 ? "never executed" : `executed ${row.executed.toLocaleString("en")} times by a warp`,
    row.threads === null ? "" : `${row.threads.toFixed(1)} active threads of 32`,
  ];
  text.appendMarkdown(`${plain(facts.filter((fact) => fact !== "").join("; "))}\n\n`);
  const samples = `${row.samples.toLocaleString("en")} samples, ${row.stalled.toLocaleString("en")} of stalled warps`;
  text.appendMarkdown(row.samples === 0 ? "no samples" : `${samples}: ${percent(code.share(row.stalled))} of the kernel's stalls`);
  if (row.reasons.length > 0) {
    text.appendMarkdown("\n\n| stall reason | samples | of its stalls |\n|---|---:|---:|\n");
    for (const [reason, count] of row.reasons) {
      text.appendMarkdown(`| ${plain(reason)} | ${count.toLocaleString("en")} | ${percent(count / Math.max(row.stalled, 1))} |\n`);
    }
  }
  ends(text, code, uri, "Waits for", row.waits_for);
  ends(text, code, uri, "Is waited for by", row.awaited_by);
  return text;
}

function ends(text: vscode.MarkdownString, code: Indexed, uri: vscode.Uri, title: string, edges: readonly Edge[]): void {
  if (edges.length === 0) {
    return;
  }
  text.appendMarkdown(`\n\n**${title}**\n\n`);
  for (const edge of edges) {
    const row = code.code.rows[edge.row];
    if (row !== undefined) {
      const where = row.places[0] === undefined ? "" : ` at ${code.name(row.places[0])}`;
      const link = command(GO_TO_ROW, plain(brief(row)).replaceAll(" ", "\u00a0"), uri.toString(), edge.row);
      const words = `${where}: ${percent(code.share(edge.samples))} of the kernel's stalls, ${edge.reason} (${KINDS[edge.kind]}; ${edge.confidence})`;
      text.appendMarkdown(`- ${link}${plain(words)}\n`);
    }
  }
}

/** Nothing that came out of a report is read as Markdown. */
function plain(words: string): string {
  return words.replaceAll(/[\\`*_{}[\]()#+\-!|<>~&]/g, "\\$&");
}

/** The place in a heading and the offset of an instruction lead to the source. */
function links(document: vscode.TextDocument, code: Indexed | undefined): vscode.DocumentLink[] {
  const found: vscode.DocumentLink[] = [];
  code?.code.listing.forEach((shown, line) => {
    const [place] = line < document.lineCount ? code.placesOfText(line) : [];
    const words = shown.row === null ? (shown.place === null ? undefined : code.name(shown.place)) : /0x[0-9a-f]+/.exec(shown.text)?.[0];
    const start = words === undefined ? -1 : shown.text.indexOf(words);
    if (place !== undefined && words !== undefined && start >= 0) {
      const target = vscode.Uri.from({ scheme: "command", path: GO_TO_SOURCE, query: JSON.stringify([document.uri.toString(), line]) });
      const link = new vscode.DocumentLink(new vscode.Range(line, start, line, start + words.length), target);
      link.tooltip = "Go to the source";
      found.push(link);
    }
  });
  return found;
}

/** Headings with the instructions under them, as text lines from 0. */
function groups(code: Indexed | undefined): { first: number; last: number }[] {
  const found: { first: number; last: number }[] = [];
  code?.code.listing.forEach((shown, line, listing) => {
    const heading = shown.row === null && shown.place !== null;
    const last = found.at(-1);
    if (heading && listing[line - 1]?.place == null) {
      found.push({ first: line, last: line });
    } else if (last !== undefined && shown.row !== null) {
      last.last = line;
    }
  });
  return found;
}
