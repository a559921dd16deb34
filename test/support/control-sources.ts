import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { options, type VNode } from 'preact';
import ts from 'typescript';
import { packagePath } from '../../apps/shared/config/files.ts';
import { sourceFiles } from './source-files.ts';

/** Elements that a person presses, opens or fills in, and the elements that hold them together. */
export const CONTROLS = ['a', 'button', 'form', 'input', 'select', 'summary', 'textarea'] as const;
/** The attribute with the place of a control in the sources: `file:line:column`. */
export const SOURCE = 'data-source';

type Placed = VNode<Record<string, unknown>> & {
  readonly __source?: { readonly fileName: string; readonly lineNumber: number; readonly columnNumber: number };
};

/**
 * From now on every control that this process renders has its place in the sources. Hidden fields have none. Answers a function that
 * ends this, because the process renders for other test files, too.
 */
export function markSources(): () => void {
  const before = options.vnode;
  options.vnode = (vnode: Placed) => {
    const { type, props, __source: source } = vnode;
    if (source !== undefined && CONTROLS.some((tag) => tag === type) && props['type'] !== 'hidden') {
      props[SOURCE] = `${relative(packagePath(), source.fileName)}:${source.lineNumber}:${source.columnNumber}`;
    }
    before?.(vnode);
  };
  return () => {
    if (before === undefined) delete options.vnode;
    else options.vnode = before;
  };
}

/** The places of controls in the text of a page. */
export const sourcesOn = (html: string): string[] =>
  [...html.matchAll(new RegExp(`${SOURCE}="([^"]+)"`, 'g'))].map(([, source]) => source ?? '');

/** The places of controls in the pages of these folders. Hidden fields do not count: no person presses them. */
export function controlSources(folders: readonly string[]): string[] {
  return sourceFiles(folders, /[.]tsx$/).flatMap(sourcesIn);
}

function sourcesIn(file: string): string[] {
  const text = readFileSync(packagePath(file), 'utf8');
  const parsed = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isJsxOpeningElement(node) || ts.isJsxSelfClosingElement(node)) {
      const isControl = CONTROLS.some((tag) => tag === node.tagName.getText());
      if (isControl && !/type="hidden"/.test(node.attributes.getText())) {
        const { line, character } = parsed.getLineAndCharacterOfPosition(node.getStart());
        found.push(`${file}:${line + 1}:${character + 1}`);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return found;
}
