// From what the user points at (a row of the tree, or the cursor) to a kernel or a finding of the report that is shown.
import * as vscode from "vscode";
import { percent, type Finding, type Hotspots, type Kernel } from "./protocol";

/** A row of the Hotspots tree, as commands in its menu get it. */
export type Row =
  | { readonly kind: "kernel"; readonly kernel: Kernel }
  | { readonly kind: "finding"; readonly kernel: Kernel; readonly finding: Finding };

export interface Pointed {
  readonly uri: string;
  readonly kernel: Kernel;
  readonly finding: Finding | undefined;
}

function kernels(hotspots: Hotspots): Kernel[] {
  return hotspots.reports.filter((report) => report.shown).flatMap((report) => report.kernels);
}

function isRow(given: unknown): given is Row {
  const kind = (given as Partial<Row> | undefined)?.kind;
  return kind === "kernel" || kind === "finding";
}

/** The kernel meant: the row's, the one the cursor is in, or the user's choice. */
export async function kernelAt(given: unknown, hotspots: Hotspots): Promise<Pointed | undefined> {
  const known = kernels(hotspots).filter((kernel) => kernel.place !== null);
  if (isRow(given)) {
    return pointed(given.kernel, undefined);
  }
  const editor = vscode.window.activeTextEditor;
  const uri = editor?.document.uri.toString();
  const line = editor?.selection.active.line ?? 0;
  const above = known
    .filter((kernel) => kernel.place !== null && same(kernel.place.uri, uri) && kernel.place.line <= line)
    .sort((a, b) => (b.place?.line ?? 0) - (a.place?.line ?? 0));
  const [under] = above;
  if (under !== undefined) {
    return pointed(under, undefined);
  }
  const [only, ...others] = known;
  if (only !== undefined && others.length === 0) {
    return pointed(only, undefined);
  }
  const items = [...known]
    .sort((a, b) => (b.share ?? 0) - (a.share ?? 0))
    .map((kernel) => ({
      label: kernel.baseName,
      description: kernel.share === null ? "" : `${percent(kernel.share)} of GPU time`,
      detail: kernel.verdict,
      kernel,
    }));
  if (items.length === 0) {
    void vscode.window.showInformationMessage("Optimas: no profiled kernel of this workspace is known; profile the program first.");
    return undefined;
  }
  const picked = await vscode.window.showQuickPick(items, { placeHolder: "Which kernel?", matchOnDetail: true });
  return picked === undefined ? undefined : pointed(picked.kernel, undefined);
}

/** The finding meant: the row's, the costliest one on the cursor's line, or the user's choice among all. */
export async function findingAt(given: unknown, hotspots: Hotspots): Promise<Pointed | undefined> {
  if (isRow(given) && given.kind === "finding") {
    return pointed(given.kernel, given.finding);
  }
  const pairs = kernels(hotspots).flatMap((kernel) => kernel.findings.map((finding) => ({ kernel, finding })));
  const editor = vscode.window.activeTextEditor;
  const uri = editor?.document.uri.toString();
  const here = pairs
    .filter(({ finding }) => !finding.known && finding.place !== null && same(finding.place.uri, uri) && finding.place.line === editor?.selection.active.line)
    .sort((a, b) => b.finding.share - a.finding.share);
  const [costliest] = here;
  if (costliest !== undefined && !isRow(given)) {
    return pointed(costliest.kernel, costliest.finding);
  }
  const items = pairs
    .filter(({ kernel, finding }) => finding.place !== null && (!isRow(given) || kernel.mangled === given.kernel.mangled))
    .map(({ kernel, finding }) => ({ label: `${finding.where}  ${finding.rule}`, description: kernel.baseName, detail: finding.text, kernel, finding }));
  if (items.length === 0) {
    void vscode.window.showInformationMessage("Optimas: there is no finding here; profile the program first.");
    return undefined;
  }
  const picked = await vscode.window.showQuickPick(items, { placeHolder: "Which finding?", matchOnDetail: true });
  return picked === undefined ? undefined : pointed(picked.kernel, picked.finding);
}

function pointed(kernel: Kernel, finding: Finding | undefined): Pointed | undefined {
  const place = finding?.place ?? kernel.place;
  if (place === null) {
    void vscode.window.showInformationMessage(`Optimas: the source of ${kernel.baseName} is not in this workspace.`);
    return undefined;
  }
  return { uri: place.uri, kernel, finding };
}

/** Two spellings of one file's URI. */
function same(one: string, other: string | undefined): boolean {
  return other !== undefined && vscode.Uri.parse(one, true).toString() === vscode.Uri.parse(other, true).toString();
}
