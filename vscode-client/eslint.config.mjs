import tseslint from "typescript-eslint";

export default tseslint.config({ ignores: ["out/", "node_modules/", "*.mjs", "scripts/"] }, ...tseslint.configs.strictTypeChecked, {
  languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
});
