// Drives a real VS Code in a headless Chromium. Reads one task as JSON on standard input, writes what it saw as JSON.
// Every wait is for something visible, never for a time. A failure leaves failure.png among the screenshots.
// A key press can be lost while the window is still being put together, so what can be pressed again is (`persist`).
import { copyFile, readFile, rename, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { text } from "node:stream/consumers";

const task = JSON.parse(await text(process.stdin));
const { chromium } = createRequire(join(task.modules, "package.json"))("playwright-core");

const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

// A slow machine may take this long for one thing to show; a lost key press is made up for after a try's time.
const PATIENCE = Number(process.env.OPTIMAS_TEST_PATIENCE_MS ?? 120_000);
const ONE_TRY = 15_000;

class Window {
  constructor(page) {
    this.page = page;
  }

  /** Does `attempt` until it succeeds, pressing Escape in between; it must be harmless to repeat. */
  async persist(attempt) {
    const end = Date.now() + PATIENCE;
    for (;;) {
      try {
        return await attempt(ONE_TRY);
      } catch (error) {
        if (Date.now() > end) {
          throw error;
        }
        await this.page.keyboard.press("Escape");
      }
    }
  }

  /** Presses `key` for the quick input, writes `words` into it and moves to the row that says just `row`, if any. */
  async ask(key, words, row, timeout) {
    await this.page.keyboard.press(key);
    const input = this.page.locator(".quick-input-widget:visible input.input");
    await input.waitFor({ timeout });
    await input.fill(words);
    if (row === undefined) {
      return;
    }
    // A row's label may be followed by its key and by where it is.
    const says = (list) => `${list}[aria-label="${row}"], ${list}[aria-label^="${row}, "], ${list}[aria-label^="${row} "]`;
    const rows = ".quick-input-list .monaco-list-row";
    const chosen = this.page.locator(says(`${rows}.focused`));
    await this.page.locator(says(rows)).first().waitFor({ timeout });
    for (let down = 0; down < 12 && (await chosen.count()) === 0; down++) {
      await this.page.keyboard.press("ArrowDown");
    }
    await chosen.first().waitFor({ timeout });
  }

  async open(folder) {
    const kind = folder.endsWith(".code-workspace") ? "workspace" : "folder";
    for (let left = 5; left > 0; left--) {
      await this.page.goto(`${task.url}/?${kind}=${encodeURIComponent(folder)}`);
      await this.page.locator(".monaco-workbench .part.statusbar").waitFor();
      if (kind === "folder" || (await this.hasRoots(left > 1 ? 20_000 : PATIENCE))) {
        return;
      }
    }
    throw new Error(`the editor shows no folder of ${folder}`);
  }

  /** Whether the folders of a workspace are there: the editor sometimes opens one before it can read its file, as empty. */
  async hasRoots(timeout) {
    const roots = this.page.locator('.explorer-folders-view .monaco-list-row[aria-level="1"]');
    return roots.first().waitFor({ timeout }).then(
      () => true,
      () => false,
    );
  }

  /** Runs a command by the title the command palette shows. */
  async command(title) {
    await this.persist((timeout) => this.ask("F1", `>${title}`, title, timeout));
    await this.page.keyboard.press("Enter");
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  }

  /** Runs a command that asks on in the quick input, and answers with the row that says `words`. */
  async choose(title, words) {
    const rows = ".quick-input-list .monaco-list-row";
    await this.persist(async (timeout) => {
      await this.ask("F1", `>${title}`, title, timeout);
      await this.page.keyboard.press("Enter");
      const asking = () => document.querySelector(".quick-input-widget input.input")?.value.startsWith(">") === false;
      await this.page.waitForFunction(asking, undefined, { timeout });
      await this.page.locator(rows).first().waitFor({ timeout });
      await this.page.locator(".quick-input-widget:visible input.input").fill(words);
      await this.page.locator(rows, { hasText: words }).first().waitFor({ timeout });
      const chosen = this.page.locator(`${rows}.focused`, { hasText: words });
      for (let down = 0; down < 5 && (await chosen.count()) === 0; down++) {
        await this.page.keyboard.press("ArrowDown"); // a first row may lead elsewhere
      }
      await chosen.waitFor({ timeout });
      await this.page.keyboard.press("Enter");
      await this.page.locator(".quick-input-widget").waitFor({ state: "hidden", timeout });
    });
  }

  /** Opens a file by its path (from the opened folder on, or absolute), which needs no search to have finished. */
  async openFile(path) {
    const name = basename(path);
    await this.persist(async (timeout) => {
      await this.ask("Control+P", resolve(task.workspace, path), name, timeout);
      await this.page.keyboard.press("Enter");
      await this.page.locator(`.tab.active[data-resource-name="${name}"]`).first().waitFor({ timeout });
      await this.page.locator(".monaco-editor.focused .view-line").first().waitFor({ timeout });
    });
  }

  /** Gives the keyboard to the editor at the right. */
  async secondGroup() {
    await this.persist(async (timeout) => {
      await this.page.keyboard.press("Control+2");
      await this.page.locator(".editor-group-container").nth(1).locator(".monaco-editor.focused").waitFor({ timeout });
    });
  }

  async goToLine(line) {
    await this.persist(async (timeout) => {
      await this.ask("Control+G", `:${line}`, undefined, timeout);
      await this.page.keyboard.press("Enter");
      await this.page.locator(".quick-input-widget").waitFor({ state: "hidden", timeout });
      await this.page.waitForFunction(
        (wanted) => document.querySelector("#status\\.editor\\.selection")?.textContent?.startsWith(`Ln ${wanted},`),
        line,
        { timeout },
      );
    });
  }

  async cursorLine() {
    const words = await this.page.locator("#status\\.editor\\.selection").textContent();
    return Number(/Ln (\d+)/.exec(words ?? "")?.[1] ?? 0);
  }

  async cursorAt(line, timeout = PATIENCE) {
    const words = new RegExp(`^Ln ${line},`);
    await this.page.locator("#status\\.editor\\.selection", { hasText: words }).waitFor({ timeout });
  }

  /** Waits until no line of a file is marked. */
  async unmarked(file) {
    await this.page.waitForFunction(MARKS, { name: file, style: null });
  }

  /** Shows the hover at the cursor and answers its text and whether it holds a table. */
  async hover() {
    // The diagnostic's part is there first; the table comes with the server's answer.
    const all = this.page.locator(".monaco-hover:not(.hidden)", { has: this.page.locator("table") }).first();
    await this.persist(async (timeout) => {
      await this.page.keyboard.press("Control+K");
      await this.page.keyboard.press("Control+I");
      await all.waitFor({ timeout });
    });
    return { text: await all.innerText(), tables: await all.locator("table").count(), rows: await all.locator("table tr").count() };
  }

  /** Puts the keyboard into the hover that is shown and scrolls it down by some lines. */
  async scrollHover(lines) {
    await this.page.keyboard.press("Control+K");
    await this.page.keyboard.press("Control+I");
    await this.page.locator(".monaco-hover:focus, .monaco-hover :focus").first().waitFor();
    for (let line = 0; line < lines; line++) {
      await this.page.keyboard.press("ArrowDown");
    }
  }

  async status() {
    return (await this.page.locator("#optimas-lsp\\.optimas\\.optimas\\.status").textContent()) ?? "";
  }

  async waitForStatus(pattern, timeout = PATIENCE) {
    const item = this.page.locator("#optimas-lsp\\.optimas\\.optimas\\.status", { hasText: pattern });
    await item.waitFor({ timeout });
    return await this.status();
  }

  /** How many visible gutter icons of each heat there are: {1: 2, 5: 1}. */
  heat() {
    return this.page.evaluate(() => {
      const counts = {};
      for (const mark of document.querySelectorAll(".monaco-editor .glyph-margin-widgets div, .monaco-editor .cgmr")) {
        const found = /heat(\d)\.svg/.exec(getComputedStyle(mark).backgroundImage);
        if (found) {
          counts[found[1]] = (counts[found[1]] ?? 0) + 1;
        }
      }
      return counts;
    });
  }

  async heatCount() {
    return Object.values(await this.heat()).reduce((sum, count) => sum + count, 0);
  }

  heatSoon(present) {
    return this.page.waitForFunction((wanted) => {
      const marks = [...document.querySelectorAll(".monaco-editor .glyph-margin-widgets div, .monaco-editor .cgmr")];
      return marks.some((mark) => /heat\d\.svg/.test(getComputedStyle(mark).backgroundImage)) === wanted;
    }, present);
  }

  /** Waits for a finding of any severity on the lines that are in view. */
  squiggle() {
    return this.page.locator(".monaco-editor :is(.squiggly-warning, .squiggly-info)").first().waitFor({ state: "attached" });
  }

  squiggles() {
    return this.page.evaluate(() => {
      const count = (kind) => document.querySelectorAll(`.monaco-editor .${kind}`).length;
      return { warning: count("squiggly-warning"), info: count("squiggly-info"), hint: count("squiggly-hint") };
    });
  }

  async lines() {
    const texts = await this.page.locator(".monaco-editor .view-lines .view-line").allInnerTexts();
    return texts.map((line) => line.replaceAll("\u00a0", " "));
  }

  /** The rows of Hotspots, once each of `words` stands in one. */
  async tree(words = []) {
    const rows = this.page.locator('.pane:has([aria-label^="Hotspots"]) .monaco-list-row');
    await rows.first().waitFor();
    for (const each of words) {
      await this.page.locator('.pane:has([aria-label^="Hotspots"]) .monaco-list-row', { hasText: each }).first().waitFor();
    }
    return (await rows.allInnerTexts()).map((row) => row.replace(/\s+/g, " ").trim());
  }

  /** The text of a file once `holds` of it: the editor saves by itself. */
  async saved(path, holds, patience = PATIENCE) {
    const end = Date.now() + patience;
    for (;;) {
      const text = await readFile(resolve(task.workspace, path), "utf8");
      if (holds(text)) {
        return text;
      }
      if (Date.now() > end) {
        throw new Error(`${path} never became what was waited for; it is:\n${text}`);
      }
      await this.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)));
    }
  }

  /** Undoes, as often as it takes, until the file is `text` again. */
  async undoTo(path, text) {
    await this.openFile(path);
    return await this.persist(async () => {
      await this.page.keyboard.press("Control+Z");
      return await this.saved(path, (now) => now === text, ONE_TRY / 5);
    });
  }

  /** Waits for a notification and answers its words. */
  async toast(pattern) {
    const found = this.page.locator(".notification-toast.notification-fade-in-done", { hasText: pattern }).first();
    await found.waitFor();
    return { words: (await found.innerText()).replace(/\s+/g, " ").trim(), button: (name) => found.locator(".monaco-button", { hasText: name }) };
  }

  /** Clears all notifications. */
  async clear() {
    await this.command("Notifications: Clear All Notifications");
    await this.page.locator(".notification-toast").first().waitFor({ state: "detached" });
  }

  /** Rows of the list of rewrites, once one of them says `pattern`. */
  async rewrites(pattern) {
    await this.page.locator('.pane:has([aria-label^="Rewrites"]) .monaco-list-row', { hasText: pattern }).first().waitFor();
    const rows = await this.page.locator('.pane:has([aria-label^="Rewrites"]) .monaco-list-row').allInnerTexts();
    return rows.map((row) => row.replace(/\s+/g, " ").trim());
  }

  /** The titles that the light bulb offers at the cursor. */
  async actions() {
    const rows = this.page.locator(".action-widget .monaco-list-row.action");
    await this.persist(async (timeout) => {
      await this.page.keyboard.press("Control+.");
      await rows.first().waitFor({ timeout });
    });
    return (await rows.allInnerTexts()).map((row) => row.trim());
  }

  /** Answers the question that is asked in a dialog, and gives its words. */
  async answer(button) {
    const dialog = this.page.locator(".monaco-dialog-box");
    await dialog.waitFor();
    const words = await dialog.innerText();
    await this.shot("consent");
    await dialog.locator(".monaco-button", { hasText: button }).click();
    await dialog.waitFor({ state: "detached" });
    return words;
  }

  /** A window on a file with its findings, the cursor on `line`, and the lists of Optimas beside it. */
  async start(file, line) {
    await this.open(task.workspace);
    await this.openFile(file);
    await this.waitForStatus(/hot/);
    await this.page.locator('.activitybar [aria-label^="Optimas"]').first().click();
    await this.tree();
    await this.page.mouse.move(600, 3); // away from what shows a tooltip
    await this.openFile(file);
    await this.goToLine(line);
    await this.squiggle();
  }

  /** The document of the webview that is in front, once it holds `text`. */
  async webview(text) {
    const inner = this.page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
    await inner.locator("body", { hasText: text }).first().waitFor();
    return inner;
  }

  /**
   * The lines of a file that are marked, by the style of their bar, with the words behind each: {solid: ["…"], double: …}.
   * A mark lies in a layer of its own, at the height of its line.
   */
  marks(name) {
    return this.page.evaluate(MARKS, { name });
  }

  /** Waits for a line of `file` that has `text`, a mark of that style and, behind it, `words`; answers all its marks. */
  async marked(file, style, text, words = "") {
    await this.page.waitForFunction(MARKS, { name: file, style, text, words });
    return await this.marks(file);
  }

  shot(name) {
    return this.page.screenshot({ path: join(task.shots, `${name}.png`) });
  }
}

/**
 * Runs in the page: lines of the visible editor of the tab `name` that carry a bar at their left, by its style. With a
 * style only if one of that style has `text` and, behind it, `words`; with null only if there is none at all.
 */
const MARKS = ({ name, style, text, words }) => {
  const found = {};
  for (const group of document.querySelectorAll(".editor-group-container")) {
    if (group.querySelector(".tab.active")?.getAttribute("data-resource-name") !== name) {
      continue;
    }
    const lines = new Map([...group.querySelectorAll(".view-lines > .view-line")].map((line) => [line.style.top, line]));
    for (const mark of group.querySelectorAll(".view-overlays .cdr")) {
      const look = getComputedStyle(mark);
      const line = lines.get(mark.parentElement.style.top);
      if (look.borderLeftWidth === "3px" && line !== undefined) {
        const behind = [...line.querySelectorAll("span")].map((span) => getComputedStyle(span, "::after").content);
        const said = behind.filter((each) => each.startsWith('"')).join(" ");
        (found[look.borderLeftStyle] ??= []).push({ text: line.textContent.replaceAll("\u00a0", " "), words: said });
      }
    }
  }
  if (style === undefined) {
    return found;
  }
  const fits = (each) => each.text.includes(text) && each.words.includes(words);
  return style === null ? Object.keys(found).length === 0 : (found[style] ?? []).some(fits);
};

const HEAT_COUNT_IS = (wanted) => {
  const marks = [...document.querySelectorAll(".monaco-editor .glyph-margin-widgets div, .monaco-editor .cgmr")];
  return marks.filter((mark) => /heat\d\.svg/.test(getComputedStyle(mark).backgroundImage)).length === wanted;
};

/** Whether a file holds the whole changed text: while it is being saved it may be empty or half there. */
const changed = (text, before, mark) => text !== before && text.includes(mark) && text.endsWith(before.slice(-40));

const scenarios = {
  /** A folder with a profile: what shows on a file of a kernel, and on the line that costs most, wherever that is. */
  async profile(window, { file, line, top }) {
    const seen = {};
    await window.open(task.workspace);
    await window.openFile(file);
    seen.status = await window.waitForStatus(/hot/);
    await window.goToLine(line);
    await window.squiggle();
    await window.page.locator(".codelens-decoration a").first().waitFor();
    seen.lens = await window.page.locator(".codelens-decoration").allInnerTexts();
    await window.heatSoon(true);
    seen.squiggles = await window.squiggles();
    seen.heat = await window.heat();
    await window.command("Optimas: Show or Hide Heat in the Gutter");
    await window.heatSoon(false);
    seen.heatOff = await window.heat();
    await window.command("Optimas: Show or Hide Heat in the Gutter");
    await window.heatSoon(true);
    seen.lines = await window.lines();
    await window.page.keyboard.press("Home"); // from column 1 to the first character of the code
    seen.hover = await window.hover();
    await window.shot("hover");
    await window.page.keyboard.press("Escape");

    await window.page.locator('.activitybar [aria-label^="Optimas"]').first().click();
    seen.tree = await window.tree();
    await window.shot("tree");
    const finding = window.page.locator('.pane:has([aria-label^="Hotspots"]) .monaco-list-row', { hasText: "line " }).first();
    seen.clicked = (await finding.innerText()).replace(/\s+/g, " ").trim();
    // The tree may be drawn anew under the click.
    await window.persist(async (timeout) => {
      await finding.click({ timeout });
      await window.page.locator(`.tab.active[data-resource-name="${top.file}"]`).waitFor({ timeout });
    });
    await window.page.locator(".monaco-editor.focused").waitFor();
    await window.page.locator(".monaco-editor .squiggly-warning").first().waitFor({ state: "attached" });
    await window.heatSoon(true);
    seen.arrived = await window.cursorLine();
    seen.topHover = await window.hover();
    await window.shot("top");
    await window.page.keyboard.press("Escape");

    return seen;
  },

  /** The picture of the manual: the tree, the kernel, and the line that costs most with its hover. */
  async picture(window, { file, line, top, scroll }) {
    await window.open(task.workspace);
    await window.openFile(file);
    await window.waitForStatus(/hot/);
    await window.page.locator('.activitybar [aria-label^="Optimas"]').first().click();
    await window.tree();
    await window.page.mouse.move(600, 3); // away from what shows a tooltip
    await window.openFile(file);
    await window.goToLine(line);
    await window.heatSoon(true);
    if (top.file !== file) {
      await window.page.keyboard.press("Control+Backslash"); // one more group to the right
      await window.page.locator(".editor-group-container").nth(1).waitFor();
      await window.openFile(top.file);
    }
    await window.goToLine(top.line);
    await window.page.locator(".monaco-editor .squiggly-warning").first().waitFor({ state: "attached" });
    await window.page.keyboard.press("Home");
    await window.heatSoon(true);
    await window.hover();
    if (scroll > 0) {
      await window.scrollHover(scroll);
    }
    await window.shot("picture");
    return {};
  },

  /** The report's page in a webview: what it is made of, and that it follows the theme. */
  async page(window, { file, line, themes }) {
    await window.open(task.workspace);
    await window.openFile(file);
    await window.waitForStatus(/hot/);
    await window.goToLine(line);
    const seen = { themes: {} };
    await window.page.locator(".codelens-decoration a", { hasText: "HTML report" }).first().click();
    for (const theme of themes) {
      await window.choose("Preferences: Color Theme", theme);
      await window.page.locator(`.monaco-workbench${/Contrast/.test(theme) ? ".hc-black" : /Light/.test(theme) ? ".vs" : ".vs-dark"}`).waitFor();
      const page = await window.webview(/samples/);
      const light = /Light/.test(theme) ? "light" : "dark";
      await page.locator(`html[data-theme="${light}"] h2`).first().waitFor();
      seen.themes[theme] = await page.locator("body").evaluate((body) => {
        const style = getComputedStyle(body);
        return { back: style.backgroundColor, text: style.color };
      });
      await window.shot(`page-${light}-${theme.replaceAll(/\W+/g, "-")}`);
      seen.policies = await page.locator('meta[http-equiv="Content-Security-Policy"]').evaluateAll((all) => all.map((meta) => meta.content));
      seen.scripted = await page.locator("table.sortable thead th button").count();
      seen.switch = await page.locator("#theme").isVisible();
    }
    return seen;
  },

  /** Edits: findings move with their text and leave when it changes. */
  async edits(window, { file, line }) {
    const seen = {};
    await window.open(task.workspace);
    await window.openFile(file);
    await window.waitForStatus(/hot/);
    await window.goToLine(line);
    await window.page.locator(".monaco-editor .squiggly-warning").first().waitFor({ state: "attached" });
    await window.goToLine(1);
    await window.page.keyboard.press("Home");
    await window.page.keyboard.type("// one more line\n");
    await window.goToLine(line + 1);
    await window.page.keyboard.press("Home");
    seen.moved = (await window.hover()).text;
    await window.page.keyboard.press("Escape");
    await window.shot("moved");
    // The text of the line itself changes: what was measured on it no longer holds, neither finding nor heat.
    await window.heatSoon(true);
    const before = await window.heatCount();
    await window.page.keyboard.press("End");
    await window.page.keyboard.type(" // changed");
    await window.page.locator(".monaco-editor .squiggly-warning").first().waitFor({ state: "detached" });
    await window.page.waitForFunction(HEAT_COUNT_IS, before - 1);
    await window.shot("changed");
    await window.page.keyboard.press("Control+Z");
    return seen;
  },

  /** A Python without the server: the notification, the status bar's words, and the question behind “Install…”. */
  async broken(window, { pattern, ask }) {
    await window.open(task.workspace);
    const status = window.page.locator("#optimas-lsp\\.optimas\\.optimas\\.status");
    const toast = window.page.locator(".notification-toast", { hasText: new RegExp(pattern) }).first();
    await toast.waitFor();
    await window.shot("broken");
    const seen = {
      toast: await toast.innerText(),
      buttons: await toast.locator(".monaco-button").allInnerTexts(),
      label: await status.getAttribute("aria-label"),
    };
    if (ask) {
      await toast.locator(".monaco-button", { hasText: ask }).click();
      const dialog = window.page.locator(".monaco-dialog-box");
      await dialog.waitFor();
      seen.question = await dialog.innerText();
      await window.shot("question");
      await dialog.locator(".monaco-button", { hasText: "Cancel" }).click();
      await dialog.waitFor({ state: "detached" });
      seen.terminals = await window.page.locator(".terminal-wrapper").count();
    }
    return seen;
  },

  /** From a Python without the server to findings on the lines: one button, one question, a terminal. */
  async repair(window, { file, line, button }) {
    await window.open(task.workspace);
    const toast = window.page.locator(".notification-toast", { hasText: /not installed/ }).first();
    await toast.waitFor();
    await toast.locator(".monaco-button", { hasText: button }).click();
    const dialog = window.page.locator(".monaco-dialog-box");
    await dialog.waitFor();
    const question = await dialog.innerText();
    await window.shot("question");
    await dialog.locator(".monaco-button", { hasText: "Run" }).click();
    await window.page.locator(".terminal-wrapper").first().waitFor();
    await window.shot("terminal");
    await window.waitForStatus(/hot/, 400_000);
    await window.shot("repaired");
    await window.openFile(file);
    await window.goToLine(line);
    await window.squiggle();
    return { question, status: await window.status() };
  },

  /** Only whether findings show: for folders that are not trusted, have several roots, and so on. */
  async glance(window, { file, line, rows }) {
    await window.open(task.workspace);
    await window.openFile(file);
    const status = await window.waitForStatus(/hot/);
    await window.goToLine(line);
    await window.squiggle();
    await window.heatSoon(true);
    await window.page.locator('.activitybar [aria-label^="Optimas"]').first().click();
    const tree = await window.tree(rows);
    await window.shot("glance");
    return {
      status,
      tree,
      restricted: await window.page.locator('.statusbar-item[id="status.workspaceTrust"]').count(),
    };
  },

  /** From the finding to the proven edit, and back: actions, question, offer, outcome, preview, apply, undo. */
  async optimize(window, { file, line, asks, mark }) {
    const seen = {};
    const before = await readFile(resolve(task.workspace, file), "utf8");
    await window.start(file, line);
    await window.heatSoon(true);
    const heat = await window.heatCount();
    seen.actions = await window.actions();
    await window.shot("actions");
    await window.page.keyboard.press("Escape");

    await window.command("Optimas: Optimise This Kernel");
    if (asks) {
      seen.question = await window.answer("Accept for this folder");
    }
    const offer = await window.toast(/proven|nothing|failed/i);
    seen.offer = offer.words;
    seen.ready = await window.rewrites(/ready/);
    await window.shot("offer");
    await offer.button("Show Outcome").click();
    const page = await window.webview(/./);
    seen.outcome = await page.locator("body").innerText();
    await window.shot("outcome");
    seen.headings = await page.locator("h3").allInnerTexts();
    for (const heading of await page.locator("h3").all()) {
      await heading.evaluate((each) => each.scrollIntoView());
      await window.shot(`outcome-${(await heading.innerText()).toLowerCase().replaceAll(/\W+/g, "-")}`);
    }
    await window.command("View: Close Editor");

    await window.command("Optimas: Preview a Rewrite");
    await window.page.locator(".monaco-diff-editor .line-insert").first().waitFor({ state: "attached" });
    await window.page.locator(".monaco-diff-editor", { hasText: mark }).first().waitFor();
    await window.shot("preview");
    seen.untouched = (await readFile(resolve(task.workspace, file), "utf8")) === before;
    await window.command("View: Close Editor");

    await window.command("Optimas: Apply a Rewrite");
    seen.applied = await window.saved(file, (text) => changed(text, before, mark));
    seen.said = (await window.toast(/is rewritten/)).words;
    seen.after = await window.rewrites(/applied/);
    await window.shot("applied");
    await window.clear();
    seen.undone = await window.undoTo(file, before);
    seen.again = await window.rewrites(/ready/);
    await window.page.waitForFunction(HEAT_COUNT_IS, heat);
    await window.page.locator('.pane:has([aria-label^="Hotspots"])', { hasNotText: "Sources changed" }).waitFor();
    await window.shot("undone");
    return seen;
  },

  /** A job that builds until it is let go, and what happens to the kernel meanwhile. */
  async meanwhile(window, { file, line, gate, asks, end }) {
    const seen = {};
    const before = await readFile(resolve(task.workspace, file), "utf8");
    await window.start(file, line);
    await window.command("Optimas: Optimise This Kernel");
    if (asks) {
      await window.answer("Accept for this folder");
    }
    seen.running = await window.rewrites(/compile/);
    await window.page.locator("#optimas-lsp\\.optimas\\.optimas\\.jobs", { hasText: /compile/ }).waitFor();
    await window.shot("running");
    if (end === "cancel") {
      await (await window.toast(/Optimise/)).button("Cancel").click();
      seen.rows = await window.rewrites(/cancelled/);
      await window.shot("cancelled");
      return seen;
    }
    await window.openFile(file);
    await window.goToLine(line);
    await window.page.keyboard.press("End");
    await window.page.keyboard.type(" // edited");
    seen.told = (await window.toast(/was edited while/)).words;
    await writeFile(gate, "");
    seen.rows = await window.rewrites(/does not fit/);
    seen.text = await window.saved(file, (text) => changed(text, before, "// edited"));
    await window.shot("stale");
    seen.restored = await window.undoTo(file, before);
    return seen;
  },

  /** What can be read about a kernel and a finding, and a finding that is known. */
  async reading(window, { file, line, known }) {
    const seen = {};
    await window.start(file, line);
    await window.command("Optimas: Explain");
    seen.explain = await (await window.webview(/memory/)).locator("body").innerText();
    await window.shot("explain");
    await window.command("View: Close All Editors");
    await window.openFile(file);
    await window.goToLine(line);
    await window.command("Optimas: Show the Prompt");
    await window.page.locator('.tab.active[data-resource-name$=".txt"]').waitFor();
    await window.page.locator(".monaco-editor .view-line", { hasText: /You.rewrite/ }).first().waitFor();
    seen.prompt = (await window.lines()).join("\n");
    await window.shot("prompt");
    await window.command("View: Close All Editors");

    await window.openFile(file);
    await window.goToLine(known);
    const row = window.page.locator('.pane:has([aria-label^="Hotspots"]) .monaco-list-row', { hasText: new RegExp(`line ${known}\\s.*known ·`) });
    await window.command("Optimas: Mark This Finding as Known");
    await row.first().waitFor();
    await window.shot("known");
    await window.command("Optimas: Show the Known Findings of This File Again");
    await row.first().waitFor({ state: "detached" });
    return seen;
  },

  /** Machine code beside the source: in step both ways, along the waits, through edits, without its report, closed. */
  async machineCode(window, { file, name, load, use, call, after, header, report, aside }) {
    const seen = {};
    const { keyboard } = window.page;
    const toCode = () => window.secondGroup();
    await window.start(file, load.line);
    await window.command("Optimas: Show Machine Code Beside the Source");
    await window.page.locator(`.tab[data-resource-name="${name}"]`).waitFor();
    await window.marked(name, "solid", load.sass);
    seen.ofLine = await window.marked(name, "dotted", use.sass, "waits for it");
    await window.shot("line");

    await toCode();
    await window.goToLine(use.text);
    seen.cause = await window.marked(name, "double", load.sass, "cause of");
    await window.marked(file, "solid", call);
    seen.source = await window.marked(file, "double", load.source, "cause of");
    seen.hover = await window.hover();
    await window.shot("instruction");
    await window.persist(async (timeout) => {
      await window.goToLine(use.text);
      await window.hover();
      await window.page.locator(".monaco-hover:not(.hidden) a", { hasText: load.sass.trim() }).first().click({ timeout });
      await window.cursorAt(load.text, timeout);
    });
    await keyboard.press("Escape");

    // By keyboard: to what it waits for and back, who waits, and to the source.
    const press = (key, line) =>
      window.persist(async (timeout) => {
        if ((await window.cursorLine()) !== line) {
          await window.page.locator(".editor-group-container").nth(1).locator(".monaco-editor.focused").waitFor({ timeout });
          await keyboard.press(key); // a busy editor may not know yet that the key means something here
        }
        await window.cursorAt(line, timeout);
      });
    await window.goToLine(use.text);
    await press("Alt+ArrowUp", load.text);
    await press("Alt+ArrowLeft", use.text);
    await window.goToLine(load.text);
    await press("Alt+ArrowDown", use.text);
    await window.persist(async (timeout) => {
      await keyboard.press("Alt+Enter");
      const choices = window.page.locator(".quick-input-list .monaco-list-row");
      await choices.first().waitFor({ timeout });
      seen.choices = (await choices.allInnerTexts()).map((row) => row.replace(/\s+/g, " ").trim());
    });
    await keyboard.press("Enter");
    await window.cursorAt(load.text);
    await press("Alt+ArrowLeft", use.text);
    await press("Enter", header.line);
    await window.page.locator(`.tab.active[data-resource-name="${header.file}"]`).waitFor();
    await window.marked(name, "solid", use.sass);
    seen.header = await window.marked(header.file, "solid", header.text);
    await window.command("View: Close Editor");

    // A heading's place is a link to the source.
    await toCode();
    await window.goToLine(load.text);
    await window.persist(async (timeout) => {
      const link = window.page.locator(".editor-group-container").nth(1).locator(".detected-link", { hasText: new RegExp(`:${load.line}$|^${load.sass.trim()}$`) });
      await link.first().click({ modifiers: ["Control"], timeout });
      await window.page.locator(`.tab.active[data-resource-name="${file}"]`).waitFor({ timeout });
      await window.page.locator(".editor-group-container").first().locator(".monaco-editor.focused").waitFor({ timeout });
    });
    await window.cursorAt(load.line);

    // A line whose instructions are out of view brings them into view.
    await window.openFile(file);
    await window.goToLine(after.line);
    seen.after = await window.marked(name, "solid", after.sass);

    await window.goToLine(1);
    await keyboard.press("Home");
    await keyboard.type("// one more line\n");
    await window.goToLine(load.line + 1);
    seen.moved = await window.marked(name, "solid", load.sass);
    await keyboard.press("End");
    await keyboard.type(";");
    await window.unmarked(name);
    await window.shot("changed");
    await keyboard.press("Control+Z");
    await window.marked(name, "solid", load.sass);

    await rename(join(task.workspace, report), aside);
    await window.page.locator(".view-line", { hasText: /cannot.be.shown/ }).first().waitFor();
    await window.unmarked(name);
    seen.gone = await window.lines();
    await window.shot("gone");
    await rename(aside, join(task.workspace, report));
    await window.marked(name, "solid", load.sass);

    await toCode();
    await window.goToLine(use.text);
    await window.marked(file, "solid", call);
    await window.command("View: Close Editor");
    await window.page.locator(`.tab[data-resource-name="${name}"]`).waitFor({ state: "detached" });
    await window.unmarked(file);

    // The light bulb's “Show the machine code of …” leads to the same, not to a file.
    await window.openFile(file);
    await window.goToLine(load.line + 1);
    await window.persist(async (timeout) => {
      await window.actions();
      const chosen = window.page.locator(".action-widget .monaco-list-row.action.focused", { hasText: "Show the machine code" });
      for (let down = 0; down < 20 && (await chosen.count()) === 0; down++) {
        await keyboard.press("ArrowDown");
      }
      await chosen.waitFor({ timeout });
      await keyboard.press("Enter");
      await window.page.locator(`.tab[data-resource-name="${name}"]`).waitFor({ timeout });
    });
    await window.marked(name, "solid", load.sass);

    // A server that is started anew is asked anew: only it can know of one more line.
    await window.command("Optimas: Restart the Server");
    await window.goToLine(1);
    await keyboard.press("Home");
    await keyboard.type("// and one more\n");
    await window.goToLine(load.line + 2);
    await window.marked(name, "solid", load.sass);
    return seen;
  },

  /** A file with several kernels: which one is asked; another one afterwards, from its machine code. */
  async machineCodeOfAnother(window, { file, line, names, name }) {
    await window.start(file, line);
    const titles = ["Show Machine Code Beside the Source", "Show the Machine Code of Another Kernel of This File…"];
    const tabs = [];
    for (const [turn, title] of titles.entries()) {
      await window.choose(`Optimas: ${title}`, names[turn]);
      await window.page.locator(`.tab[data-resource-name="${name}"]`).nth(turn).waitFor();
      await window.secondGroup();
      await window.persist(async (timeout) => {
        await window.page.keyboard.press("Control+Home"); // it opens at its costliest instruction
        await window.page.locator(".editor-group-container").nth(1).locator(".view-line", { hasText: names[turn] }).first().waitFor({ timeout });
      });
      tabs.push(await window.page.locator(`.tab[data-resource-name="${name}"]`).count());
    }
    await window.shot("another");

    // From a row of the tree, with no source open.
    await window.command("View: Close All Editors");
    const menu = window.page.locator(".monaco-menu .action-item:not(.disabled) .action-label");
    await window.persist(async (timeout) => {
      await window.command("Optimas: Focus on Hotspots View");
      await window.page.locator('.pane:has([aria-label^="Hotspots"]) .monaco-list:focus').waitFor({ timeout });
      await window.page.keyboard.press("Home");
      await window.page.keyboard.press("Shift+F10");
      await menu.first().waitFor({ timeout });
    });
    const chosen = window.page.locator(".monaco-menu .action-item.focused", { hasText: "Show Machine Code" });
    for (let down = 0; down < 20 && (await chosen.count()) === 0; down++) {
      await window.page.keyboard.press("ArrowDown");
    }
    await window.page.keyboard.press("Enter");
    await window.page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor();
    await window.page.locator(".view-line", { hasText: "shmem.cu:" }).first().waitFor({ state: "attached" }); // its first line may be out of view

    // Nor does the palette need one.
    await window.command("View: Close All Editors");
    await window.choose("Optimas: Show Machine Code Beside the Source", "mix_tiles");
    await window.page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor();
    return { tabs };
  },

  /** The picture of the manual: an instruction, what it waits for, and both in the source. */
  async machineCodePicture(window, { file, name, themes, load, use }) {
    await window.start(file, load.line);
    await window.page.keyboard.press("Control+B");
    await window.command("Optimas: Show Machine Code Beside the Source");
    await window.marked(name, "solid", load.sass);
    await window.secondGroup();
    await window.goToLine(use.text);
    for (const theme of themes) {
      await window.choose("Preferences: Color Theme", theme);
      await window.page.locator(`.monaco-workbench${/Contrast/.test(theme) ? ".hc-black" : /Light/.test(theme) ? ".vs" : ".vs-dark"}`).waitFor();
      await window.marked(name, "double", load.sass, "cause of");
      await window.marked(file, "double", load.source, "cause of");
      await window.shot(`machine-code-${theme.replaceAll(/\W+/g, "-")}`);
    }
    return {};
  },

  /** Without a mouse: from the tree through a row's menu to the question, which Escape answers with no. */
  async keyboard(window, { file, line }) {
    await window.start(file, line);
    const { keyboard } = window.page;
    const menu = window.page.locator(".monaco-menu .action-item:not(.disabled) .action-label");
    await window.persist(async (timeout) => {
      await window.command("Optimas: Focus on Hotspots View");
      await window.page.locator('.pane:has([aria-label^="Hotspots"]) .monaco-list:focus').waitFor({ timeout });
      await keyboard.press("Home");
      await keyboard.press("Shift+F10");
      await menu.first().waitFor({ timeout });
    });
    const items = (await menu.allInnerTexts()).map((item) => item.trim()).filter((item) => item !== "");
    await window.shot("menu");
    const chosen = window.page.locator(".monaco-menu .action-item.focused", { hasText: "Optimise This Kernel" });
    for (let down = 0; down < items.length && (await chosen.count()) === 0; down++) {
      await keyboard.press("ArrowDown");
    }
    await keyboard.press("Enter");
    const dialog = window.page.locator(".monaco-dialog-box");
    await dialog.waitFor();
    await keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    return { items, rows: await window.rewrites(/cancelled/) };
  },

  /** With confirmation: the editor's own preview of the edit, and applying from there. */
  async confirm(window, { file, line, mark }) {
    const before = await readFile(resolve(task.workspace, file), "utf8");
    await window.start(file, line);
    await window.command("Optimas: Optimise This Kernel");
    await window.toast(/proven/);
    await window.rewrites(/ready/);
    await window.clear();
    await window.command("Optimas: Apply a Rewrite");
    const panel = window.page.locator("#refactorPreview, .bulk-edit-panel").first();
    await panel.waitFor();
    const words = (await panel.innerText()).replace(/\s+/g, " ");
    await window.shot("confirm");
    const untouched = (await readFile(resolve(task.workspace, file), "utf8")) === before;
    await panel.locator('.monaco-list-row input[type="checkbox"], .monaco-list-row .edit-checkbox').first().click();
    await panel.locator(".monaco-button", { hasText: "Apply" }).click();
    const applied = await window.saved(file, (text) => changed(text, before, mark));
    const said = (await window.toast(/is rewritten/)).words;
    await window.command("Optimas: Restart the Server");
    const kept = await window.rewrites(/applied/);
    return { words, untouched, applied, said, kept };
  },

  /** In a folder that is not trusted: the lens is there, and what it says is not done. */
  async untrusted(window, { file, line }) {
    await window.start(file, line);
    await window.page.locator(".codelens-decoration a", { hasText: "Optimise" }).first().click();
    const { words } = await window.toast(/not trusted/);
    await window.shot("untrusted");
    return { words, rows: await window.page.locator('.pane:has([aria-label^="Rewrites"]) .monaco-list-row').count() };
  },

  /** A backend that cannot be reached: what is said, and that nothing hangs. */
  async failing(window, { file, line }) {
    await window.start(file, line);
    await window.command("Optimas: Optimise This Kernel");
    const question = await window.answer("Accept for this folder");
    const { words } = await window.toast(/cannot|could not|refused|failed|reach/i);
    await window.shot("failing");
    return { question, words, rows: await window.rewrites(/failed|nothing to apply/) };
  },

  /** A report that comes into the folder while a file is open. */
  async late(window, { file, line, report, name }) {
    await window.open(task.workspace);
    await window.openFile(file);
    const before = await window.waitForStatus(/no profile/);
    await copyFile(report, join(task.workspace, name));
    const status = await window.waitForStatus(/hot/);
    await window.goToLine(line);
    await window.squiggle();
    await window.heatSoon(true);
    await window.shot("late");
    return { before, status };
  },

  /** What VS Code itself says the extension's activation took: loading its code and calling it. */
  async activation(window, { file }) {
    await window.open(task.workspace);
    await window.openFile(file);
    await window.waitForStatus(/hot/);
    await window.command("Developer: Show Running Extensions");
    const row = window.page.locator(".runtime-extensions-editor .extension", { hasText: "Optimas" }).first();
    await row.waitFor();
    await window.shot("activation");
    return { row: (await row.innerText()).replace(/\s+/g, " ") };
  },

  /** The first-use pages. */
  async walkthrough(window) {
    await window.open(task.workspace);
    await window.page.locator("#optimas-lsp\\.optimas\\.optimas\\.status").waitFor();
    await window.command("Optimas: Get Started");
    const steps = window.page.locator(".gettingStarted .step-title");
    await steps.first().waitFor();
    await window.shot("walkthrough");
    return { steps: await steps.allInnerTexts() };
  },
};

const chrome = await chromium.launch({ executablePath: task.browser, args: QUIET });
const page = await chrome.newPage({ viewport: task.options.viewport ?? { width: 1360, height: 820 } });
page.setDefaultTimeout(PATIENCE);
try {
  const seen = await scenarios[task.scenario](new Window(page), task.options);
  process.stdout.write(JSON.stringify(seen));
} catch (error) {
  await page.screenshot({ path: join(task.shots, "failure.png") });
  console.error(error);
  process.exitCode = 1;
} finally {
  await chrome.close();
}
