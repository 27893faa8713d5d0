// Pages that the server wrote (a report, the outcome of a rewrite) in a webview: they load nothing, and follow the theme.
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import * as vscode from "vscode";

/** The page's colours are the theme's; its own switch between dark and light has no use here. */
const STYLE = `
:root:root:root {
  --back: var(--vscode-editor-background);
  --panel: var(--vscode-editorWidget-background, var(--vscode-editor-background));
  --text: var(--vscode-editor-foreground);
  --quiet: var(--vscode-descriptionForeground, var(--vscode-editor-foreground));
  --line: var(--vscode-contrastBorder, var(--vscode-editorWidget-border, var(--vscode-editor-foreground)));
  --link: var(--vscode-textLink-foreground);
  --accent: var(--vscode-focusBorder);
}
body { padding: 0; font-family: var(--vscode-font-family); }
code { background: none; border-radius: 0; color: inherit; padding: 0; }
#theme { display: none; }
`;

export class Pages implements vscode.Disposable {
  private readonly open = new Map<string, { readonly panel: vscode.WebviewPanel; text: string }>();
  private readonly themes: vscode.Disposable;

  constructor() {
    this.themes = vscode.window.onDidChangeActiveColorTheme(() => {
      for (const { panel, text } of this.open.values()) {
        panel.webview.html = dressed(text, vscode.window.activeColorTheme.kind);
      }
    });
  }

  /** Shows the page at `path`, in the tab that already shows it if there is one. */
  async show(path: string): Promise<void> {
    const text = await readFile(path, "utf8");
    let page = this.open.get(path);
    if (page === undefined) {
      const panel = vscode.window.createWebviewPanel("optimas.page", titleOf(text) ?? basename(path), vscode.ViewColumn.Active, {
        enableScripts: true,
        enableFindWidget: true,
        localResourceRoots: [],
      });
      page = { panel, text };
      this.open.set(path, page);
      panel.onDidDispose(() => this.open.delete(path));
    } else {
      page.panel.reveal();
    }
    page.text = text;
    page.panel.webview.html = dressed(text, vscode.window.activeColorTheme.kind);
  }

  dispose(): void {
    this.themes.dispose();
    for (const { panel } of [...this.open.values()]) {
      panel.dispose();
    }
  }
}

function titleOf(page: string): string | undefined {
  return /<title>([^<&]+)<\/title>/.exec(page)?.[1];
}

/** The page with the theme's colours, and a policy that lets only those scripts run whose hashes its own policy names. */
export function dressed(page: string, theme: vscode.ColorThemeKind): string {
  const scripts = /script-src ((?:&#x27;|&#39;|')sha256-[A-Za-z0-9+/=]+(?:&#x27;|&#39;|'))/.exec(page)?.[1] ?? "'none'";
  const policy = `default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src ${scripts}; base-uri 'none'; form-action 'none'`;
  const dark = theme === vscode.ColorThemeKind.Dark || theme === vscode.ColorThemeKind.HighContrast;
  return page
    .replace(/<html\b/, `<html data-theme="${dark ? "dark" : "light"}"`)
    .replace(/<head>/, `<head><meta http-equiv="Content-Security-Policy" content="${policy}">`)
    .replace(/<\/head>/, `<style>${STYLE}</style></head>`);
}
