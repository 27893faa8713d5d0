// The status bar: which profile is shown and how many hot kernels it has, or why there is nothing to show.
import * as vscode from "vscode";
import { percent, type Hotspots, type Report } from "./protocol";
import type { Phase } from "./session";

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("optimas.status", vscode.StatusBarAlignment.Left, 10);
  private phase: Phase = "stopped";
  private reason = "";
  private reports: readonly Report[] = [];

  constructor() {
    this.item.name = "Optimas";
    this.draw();
    this.item.show();
  }

  enter(phase: Phase, reason: string): void {
    this.phase = phase;
    this.reason = reason;
    this.draw();
  }

  show(hotspots: Hotspots): void {
    this.reports = hotspots.reports;
    this.draw();
  }

  private draw(): void {
    const { item } = this;
    item.backgroundColor = undefined;
    item.command = "optimas.hotspots.focus";
    switch (this.phase) {
      case "starting":
        item.text = "$(loading~spin) Optimas";
        item.tooltip = "Optimas: the server is starting";
        return;
      case "failed":
        item.text = "$(error) Optimas";
        item.tooltip = this.reason;
        item.backgroundColor = new vscode.ThemeColor("statusBarItem.errorBackground");
        item.command = "optimas.client.restart";
        return;
      case "stopped":
        item.text = "$(circle-slash) Optimas";
        item.tooltip = "Optimas: the server is not running; click to start it";
        item.command = "optimas.client.restart";
        return;
      case "running":
        this.drawProfile();
    }
  }

  private drawProfile(): void {
    const { item } = this;
    const shown = this.reports.filter((report) => report.shown);
    if (shown.length === 0) {
      item.text = "$(flame) no profile";
      item.tooltip = "Optimas: no Nsight Compute report is shown in this workspace";
      return;
    }
    const hot = shown.flatMap((report) => report.kernels).filter((kernel) => kernel.hot);
    const [first, ...others] = shown;
    const name = first !== undefined && others.length === 0 ? first.name : `${String(shown.length)} reports`;
    item.text = `$(flame) ${name}: ${String(hot.length)} hot`;
    const tooltip = new vscode.MarkdownString();
    for (const report of shown) {
      tooltip.appendText(`${report.name} (${report.device})${report.stale ? ", sources changed since" : ""}`);
      tooltip.appendMarkdown("\n\n");
      for (const kernel of report.kernels.filter((one) => one.hot)) {
        tooltip.appendText(`${kernel.share === null ? "" : percent(kernel.share)} ${kernel.baseName}: ${kernel.verdict}`);
        tooltip.appendMarkdown("\n\n");
      }
    }
    item.tooltip = tooltip;
  }

  dispose(): void {
    this.item.dispose();
  }
}
