import { readFileSync } from 'node:fs';
import express, { type Router } from 'express';
import { packagePath } from '../config/package-root.ts';

const FILES = { 'style.css': 'css', 'script.js': 'js', 'icon.svg': 'svg' } as const;

/** Style, script and icon of the pages, below `/assets`. Read once; a browser asks whether they changed. */
export function assetsRouter(): Router {
  const router = express.Router();
  for (const [name, type] of Object.entries(FILES)) {
    const content = readFileSync(packagePath('apps', 'shared', 'pages', name), 'utf8');
    router.get(`/assets/${name}`, (_request, response) => {
      response.type(type).set('Cache-Control', 'no-cache').send(content);
    });
  }
  return router;
}
