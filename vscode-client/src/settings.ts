// Which settings go to the server: those that somebody set, and never those that only this extension reads.
import * as vscode from "vscode";

const CLIENT_ONLY = new Set(["optimas.python", "optimas.heat", "optimas.trace.server"]);

interface Group {
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Full keys of all settings of the server, as `package.json` declares them. */
function serverKeys(): string[] {
  const extension = vscode.extensions.getExtension("optimas-lsp.optimas");
  const declared = extension?.packageJSON as { contributes?: { configuration?: readonly Group[] } } | undefined;
  const groups = declared?.contributes?.configuration ?? [];
  return groups.flatMap((group) => Object.keys(group.properties)).filter((key) => !CLIENT_ONLY.has(key));
}

type Tree = { [key: string]: unknown };

/** The values under `section` that are set anywhere (user, workspace, folder), as a tree without the section's name. */
export function chosenSettings(section: string | undefined, scope: vscode.Uri | undefined): Tree | null {
  if (section !== undefined && section !== "optimas") {
    return null;
  }
  const settings = vscode.workspace.getConfiguration(undefined, scope ?? null);
  const tree: Tree = {};
  for (const key of serverKeys()) {
    const found = settings.inspect(key);
    const set = [found?.globalValue, found?.workspaceValue, found?.workspaceFolderValue].some((value) => value !== undefined);
    if (set) {
      place(tree, key.split(".").slice(1), settings.get(key));
    }
  }
  return tree;
}

function place(tree: Tree, path: readonly string[], value: unknown): void {
  const [head, ...rest] = path;
  if (head === undefined) {
    return;
  }
  if (rest.length === 0) {
    tree[head] = value;
    return;
  }
  const inner = (tree[head] ?? {}) as Tree;
  tree[head] = inner;
  place(inner, rest, value);
}
