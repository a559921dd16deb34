import { readFileSync } from 'node:fs';
import express, { type RequestHandler, type Router } from 'express';
import { packagePath } from '../config/package-root.ts';

/** What the one sheet of all pages is made of. The order is that of the cascade. */
const SHEET = ['colours', 'frame', 'controls', 'surfaces', 'lists', 'detail'];

/** Style, script and icon of the pages, below `/assets`. */
export function assetsRouter(): Router {
  const file = (...path: string[]) => packagePath('apps', 'shared', 'pages', ...path);
  const router = express.Router();
  router.get('/assets/style.css', asset('css', ...SHEET.map((part) => file('style', `${part}.css`))));
  router.get('/assets/script.js', asset('js', file('script.js')));
  router.get('/assets/icon.svg', asset('svg', file('icon.svg')));
  return router;
}

/** Answers with these files, one after the other. They are read once; a browser asks whether they changed. */
export function asset(type: 'css' | 'js' | 'svg', ...paths: readonly string[]): RequestHandler {
  const content = paths.map((path) => readFileSync(path, 'utf8')).join('\n');
  return (_request, response) => void response.type(type).set('Cache-Control', 'no-cache').send(content);
}
