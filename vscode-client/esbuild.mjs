// Bundles the extension into out/extension.js and out/client.js, and the licences of what it bundles into out/THIRD_PARTY.txt;
// --watch rebuilds on change.
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { context } from "esbuild";

const watch = process.argv.includes("--watch");
const build = await context({
  entryPoints: ["src/extension.ts", "src/client.ts"],
  outdir: "out",
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode", "./client.js"],
  minify: !watch,
  sourcemap: watch,
  metafile: true,
  // The UMD builds of some dependencies do not bundle; their ES modules do.
  mainFields: ["module", "main"],
  logLevel: "warning",
});

function licences(inputs) {
  const packages = new Set();
  for (const input of Object.keys(inputs)) {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) {
      packages.add(found[1]);
    }
  }
  return [...packages].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file !== undefined && existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8").trim() : "";
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
}

if (watch) {
  await build.watch();
} else {
  const { metafile } = await build.rebuild();
  writeFileSync("out/THIRD_PARTY.txt", licences(metafile.inputs).join(`\n${"-".repeat(80)}\n\n`));
  await build.dispose();
}
