import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import express, { type RequestHandler, type Router } from 'express';
import { packagePath } from '../config/files.ts';

/** The parts of the style sheet of all pages, in the order of the cascade. */
const SHEET = [
  'colours',
  'frame',
  'controls',
  'surfaces',
  'lists',
  'requests',
  'detail',
  'foreign',
  'arguments',
  'print',
];
/** The parts of the script of all pages. Each has a scope of its own. */
const SCRIPT = ['times', 'decisions', 'print', 'drafts', 'lists', 'live', 'keys', 'notices', 'push', 'undo'];
/** Changes a drawn page into another without touching what is equal in both. */
const MORPH = createRequire(import.meta.url).resolve('idiomorph/dist/idiomorph.min.js');
/** The deepest level of JSON with an indentation of its own. */
export const DEEPEST_LEVEL = 12;

const read = (...path: string[]) => readFileSync(packagePath('apps', 'shared', 'pages', ...path), 'utf8');

/** Style, script and icon of the pages, below `/assets`. */
export function assetsRouter(): Router {
  const router = express.Router();
  router.get('/assets/style.css', asset('css', styleSheet()));
  router.get('/assets/script.js', asset('js', script()));
  router.get('/assets/icon.svg', asset('svg', read('icon.svg')));
  return router;
}

/** The script of all pages. */
const script = (): string =>
  [readFileSync(MORPH, 'utf8'), ...SCRIPT.map((part) => `(() => {\n${read('script', `${part}.js`)}})();`)].join('\n');

/** The style sheet of all pages. Levels of JSON are classes, because the CSP allows no inline style. */
export function styleSheet(): string {
  const levels = Array.from({ length: DEEPEST_LEVEL }, (_, at) => `.line.d${at + 1} { --depth: ${at + 1}; }`);
  return [...SHEET.map((part) => read('style', `${part}.css`)), ...levels].join('\n');
}

/** Answers with a content that browsers revalidate. */
export const asset =
  (type: 'css' | 'js' | 'svg', content: string): RequestHandler =>
  (_request, response) =>
    void response.type(type).set('Cache-Control', 'no-cache').send(content);
