import { Router } from 'express';
import { packagePath } from '../shared/config/package-root.ts';
import { asset, assetsRouter } from '../shared/pages/assets.ts';

/** The files of all pages, and the sheet of these. */
export function auditAssets(): Router {
  const router = Router();
  router.get('/assets/audit.css', asset('css', packagePath('apps', 'audit', 'audit.css')));
  return router.use(assetsRouter());
}
