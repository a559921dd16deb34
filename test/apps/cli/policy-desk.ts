import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { permitting, SCHEMA } from '../../support/policy-folder.ts';
import { Desk } from './run.ts';

const FOLDER = { 'schema.cedarschema': SCHEMA, 'entities.json': '[]', 'a.cedar': permitting('a') };

/** A policy that permits the tool `b` with an approval of the template `boss`. */
export const REQUESTABLE = `
@id("ask")
@requestable("boss")
@reason("approval_required")
@title("Do it")
permit (principal, action == Action::"tools/call", resource == Resource::"tool|b")
when { context has approval && context.approval.verified && context.approval.template == "boss" };
`;

/** A desk whose configuration names the folder `policies`, with these files in it. */
export function policyDesk(files: Record<string, string> = {}, config: object = {}): Desk {
  const desk = new Desk({ pdp: { policies: './policies' }, ...config });
  addFolder(desk, 'policies', files);
  return desk;
}

/** Another policy folder on a desk. */
export function addFolder(desk: Desk, name: string, files: Record<string, string>): void {
  mkdirSync(join(desk.folder, name));
  for (const [file, text] of Object.entries({ ...FOLDER, ...files }))
    writeFileSync(join(desk.folder, name, file), text);
}
