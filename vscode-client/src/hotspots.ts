// The Hotspots tree: reports (when there are several) → kernels → findings, costliest first.
import * as vscode from "vscode";
import { EMPTY, duration, percent, type Finding, type Hotspots, type Kernel, type Place, type Report } from "./protocol";

type Node =
  | { readonly kind: "report"; readonly report: Report }
  | { readonly kind: "kernel"; readonly report: Report; readonly kernel: Kernel }
  | { readonly kind: "finding"; readonly kernel: Kernel; readonly finding: Finding };

const LEVELS = {
  act: { rank: 0, icon: "warning", color: "list.warningForeground", words: "worth changing" },
  hot: { rank: 1, icon: "info", color: "charts.blue", words: "where time goes" },
  note: { rank: 2, icon: "circle-small", color: "descriptionForeground", words: "note" },
  known: { rank: 3, icon: "check", color: "descriptionForeground", words: "known" },
} as const;

export class HotspotsTree implements vscode.TreeDataProvider<Node> {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private hotspots: Hotspots = EMPTY;
  readonly view: vscode.TreeView<Node>;

  constructor() {
    this.view = vscode.window.createTreeView("optimas.hotspots", { treeDataProvider: this, showCollapseAll: true });
  }

  show(hotspots: Hotspots): void {
    this.hotspots = hotspots;
    const stale = hotspots.reports.filter((report) => report.shown && report.stale);
    this.view.message =
      stale.length === 0 ? "" : `Sources changed since ${stale.map((report) => report.name).join(", ")} was measured.`;
    const hot = hotspots.reports.filter((report) => report.shown).flatMap((report) => report.kernels).filter((kernel) => kernel.hot);
    this.view.badge =
      hot.length === 0
        ? undefined
        : { value: hot.length, tooltip: `${String(hot.length)} hot ${hot.length === 1 ? "kernel" : "kernels"}` };
    this.changed.fire(undefined);
  }

  getChildren(node?: Node): Node[] {
    if (node === undefined) {
      const { reports } = this.hotspots;
      const [only, ...others] = reports;
      return only !== undefined && others.length === 0 ? kernelsOf(only) : reports.map((report) => ({ kind: "report", report }));
    }
    switch (node.kind) {
      case "report":
        return kernelsOf(node.report);
      case "kernel":
        return byCost(node.kernel).map((finding) => ({ kind: "finding", kernel: node.kernel, finding }));
      case "finding":
        return [];
    }
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case "report":
        return reportItem(node.report);
      case "kernel":
        return kernelItem(node.kernel);
      case "finding":
        return findingItem(node.finding);
    }
  }

  /** The same list as a quick pick, for those who would rather type. */
  async pick(): Promise<void> {
    const shown = this.hotspots.reports.filter((report) => report.shown);
    const items = shown
      .flatMap((report) => report.kernels)
      .flatMap((kernel) => byCost(kernel).map((finding) => ({ kernel, finding })))
      .sort((a, b) => rank(a.finding) - rank(b.finding) || cost(b.kernel, b.finding) - cost(a.kernel, a.finding))
      .map(({ kernel, finding }) => ({
        label: `$(${look(finding).icon}) ${finding.where}  ${what(finding)}`,
        description: finding.share === 0 ? kernel.baseName : `${percent(finding.share)} of ${kernel.baseName}`,
        detail: finding.text,
        place: finding.place,
      }));
    const picked = await vscode.window.showQuickPick(items, { placeHolder: "Findings, costliest first", matchOnDetail: true });
    if (picked?.place) {
      await reveal(picked.place);
    }
  }

  /** Lets the user choose among the open reports; answers its path. */
  async pickReport(): Promise<string | undefined> {
    const items = this.hotspots.reports.map((report) => ({
      label: `$(${report.shown ? "eye" : "graph"}) ${report.name}`,
      description: report.shown ? `${report.device} · shown` : report.device,
      detail: report.path,
    }));
    return (await vscode.window.showQuickPick(items, { placeHolder: "Which report should be shown?", matchOnDetail: true }))?.detail;
  }
}

function kernelsOf(report: Report): Node[] {
  return [...report.kernels]
    .sort((a, b) => (b.share ?? 0) - (a.share ?? 0))
    .map((kernel) => ({ kind: "kernel", report, kernel }));
}

/** What is worth changing first, then the rest, each by its share. */
function byCost(kernel: Kernel): Finding[] {
  return [...kernel.findings].sort((a, b) => rank(a) - rank(b) || b.share - a.share);
}

function rank(finding: Finding): number {
  return look(finding).rank;
}

/** Order, sign and words of a finding; the sign's shape differs, not only its colour. */
function look(finding: Finding): (typeof LEVELS)[keyof typeof LEVELS] {
  return LEVELS[finding.known ? "known" : finding.level];
}

/** The reason, and whether this line waits for it or makes others wait. */
function what(finding: Finding): string {
  return finding.id.startsWith("BL-") ? `causes ${finding.rule}` : finding.rule;
}

function cost(kernel: Kernel, finding: Finding): number {
  return (kernel.share ?? 0) * finding.share;
}

function reportItem(report: Report): vscode.TreeItem {
  const open = report.shown ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed;
  const item = new vscode.TreeItem(report.name, open);
  const folder = /([^/\\]+)[/\\][^/\\]+$/.exec(report.path)?.[1];
  item.description = [folder, report.device, report.shown ? undefined : "not shown"].filter((part) => part !== undefined).join(" · ");
  item.tooltip = plain([report.path, report.device, report.tool, ...report.notes]);
  item.iconPath = new vscode.ThemeIcon("graph");
  item.contextValue = "report";
  return item;
}

function kernelItem(kernel: Kernel): vscode.TreeItem {
  const open = kernel.hot ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed;
  const item = new vscode.TreeItem(kernel.baseName, kernel.findings.length === 0 ? vscode.TreeItemCollapsibleState.None : open);
  const time = kernel.gpuTimeNs === null ? [] : [duration(kernel.gpuTimeNs)];
  const share = kernel.share === null ? [] : [`${percent(kernel.share)} of GPU time`];
  item.description = [...(kernel.share === null ? [] : [percent(kernel.share)]), ...time].join(" · ");
  item.tooltip = plain([
    kernel.name,
    [...share, ...time, `${String(kernel.launches)} ${kernel.launches === 1 ? "launch" : "launches"}`].join(", "),
    kernel.verdict,
    kernel.samples === 0 ? "no PC samples" : `${percent(kernel.unattributed / kernel.samples)} of its samples belong to no source line`,
  ]);
  item.iconPath = kernel.hot
    ? new vscode.ThemeIcon("flame", new vscode.ThemeColor("optimas.heat5"))
    : new vscode.ThemeIcon("symbol-function");
  item.contextValue = "kernel";
  item.accessibilityInformation = {
    label: `${kernel.hot ? "hot kernel" : "kernel"} ${kernel.baseName}, ${[...share, ...time].join(", ")}`,
  };
  go(item, kernel.place);
  return item;
}

function findingItem(finding: Finding): vscode.TreeItem {
  // What belongs to the kernel as a whole has no share of its samples.
  const share = finding.share === 0 ? "" : percent(finding.share);
  // The number of the line stands in front of the reason, because a narrow side bar cuts the end off.
  const [, file = "the whole kernel", line] = /^(.*):(\d+)$/.exec(finding.where) ?? [];
  const parts = [share, line === undefined ? "" : `line ${line}`, what(finding)];
  const item = new vscode.TreeItem(parts.filter((part) => part !== "").join("  "));
  const { icon, color, words } = look(finding);
  const lost = finding.place === null && finding.where !== "";
  item.description = `${finding.known ? "known · " : ""}${lost ? `${file} (not in this workspace, or changed)` : file}`;
  item.tooltip = plain([
    finding.text,
    share === ""
      ? `${words}, ${finding.id}`
      : `${share} ± ${percent(finding.margin)} of the kernel's samples (${String(finding.samples)}), ${words}, ${finding.id}`,
  ]);
  item.iconPath = new vscode.ThemeIcon(icon, new vscode.ThemeColor(color));
  item.contextValue = finding.known ? "known" : "finding";
  item.accessibilityInformation = { label: [`${words}: ${what(finding)}`, share, finding.where].filter((part) => part !== "").join(", ") };
  go(item, finding.place);
  return item;
}

/** A tooltip in which nothing that came out of a report is read as Markdown. */
function plain(paragraphs: readonly string[]): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  for (const paragraph of paragraphs.filter((part) => part !== "")) {
    text.appendText(paragraph);
    text.appendMarkdown("\n\n");
  }
  return text;
}

function go(item: vscode.TreeItem, place: Place | null): void {
  if (place !== null) {
    item.command = { command: "optimas.client.reveal", title: "Go to line", arguments: [place] };
  }
}

/** Opens the file of `place` with the cursor there, or on the first character of the line that is not blank. */
export async function reveal(place: Place): Promise<void> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(place.uri, true));
  const line = document.lineAt(Math.min(place.line, document.lineCount - 1));
  const column = Math.max(place.character, line.firstNonWhitespaceCharacterIndex);
  const position = new vscode.Position(line.lineNumber, column);
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(position, position) });
}
