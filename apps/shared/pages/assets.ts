import { readFileSync } from 'node:fs';
import express, { type RequestHandler, type Router } from 'express';
import { packagePath } from '../config/files.ts';

/** The parts of the style sheet of all pages, in the order of the cascade. */
const SHEET = ['colours', 'frame', 'controls', 'surfaces', 'lists', 'detail', 'foreign', 'print'];

const file = (...path: string[]) => packagePath('apps', 'shared', 'pages', ...path);
const sheetFiles = () => SHEET.map((part) => file('style', `${part}.css`));

/** Style, script and icon of the pages, below `/assets`. */
export function assetsRouter(): Router {
  const router = express.Router();
  router.get('/assets/style.css', asset('css', ...sheetFiles()));
  router.get('/assets/script.js', asset('js', file('script.js')));
  router.get('/assets/icon.svg', asset('svg', file('icon.svg')));
  return router;
}

/** The style sheet of all pages. */
export const sheetOf = (): string => contentOf(sheetFiles());

/** Answers with the joined files. They are read once; browsers revalidate them. */
export function asset(type: 'css' | 'js' | 'svg', ...paths: readonly string[]): RequestHandler {
  const content = contentOf(paths);
  return (_request, response) => void response.type(type).set('Cache-Control', 'no-cache').send(content);
}

const contentOf = (paths: readonly string[]) => paths.map((path) => readFileSync(path, 'utf8')).join('\n');
