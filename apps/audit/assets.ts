import { readFileSync } from 'node:fs';
import { Router } from 'express';
import { packagePath } from '../shared/config/package-root.ts';
import { assetsRouter } from '../shared/pages/assets.ts';

/** The files of all pages, and the sheet of these. */
export function auditAssets(): Router {
  const router = Router();
  const sheet = readFileSync(packagePath('apps', 'audit', 'audit.css'), 'utf8');
  router.get('/assets/audit.css', (_request, response) => {
    response.type('css').set('Cache-Control', 'no-cache').send(sheet);
  });
  return router.use(assetsRouter());
}
