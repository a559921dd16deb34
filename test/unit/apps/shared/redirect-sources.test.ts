import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { packagePath } from '../../../../apps/shared/config/files.ts';
import { sourceFiles } from '../../../support/source-files.ts';

/** A path of this site, recognised by its start or by its author. */
const OWN =
  /^(?:['`]\/(?:[a-z?]|['`]$)|ownPath\(|signInPath\(|freshSignInPath\(|addressOf\('\/[a-z]|`\$\{requestAddress\()/;
/** Redirects that lead elsewhere on purpose. */
const ELSEWHERE = [
  // To the issuer, by its own metadata.
  'apps/shared/auth/sign-in.ts: address.href',
  'apps/shared/auth/sign-out.ts: `0; url=${atIssuer}`',
  // From the embedded issuer to the inbox of the configuration.
  'apps/shared/embedded/identity/http.ts: urls.approvals',
  // The address of an access request, for programs.
  'apps/approvals/access-requests/router.ts: statusEndpoint(opened.id, http.urls)',
];

/** Every place that sends a client elsewhere: its file, and the text of the target. */
function targetsIn(file: string): string[] {
  const parsed = ts.createSourceFile(file, readFileSync(packagePath(file), 'utf8'), ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const [name, first, last] = [node.expression.name.text, node.arguments[0], node.arguments.at(-1)];
      const isHeader =
        /^(?:set|header|setHeader|append)$/.test(name) && /^['"](?:location|refresh)/i.test(first?.getText() ?? '');
      if (isHeader || name === 'redirect' || name === 'location') found.push(last?.getText() ?? '');
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return found;
}

describe('redirects in the sources of both sites', () => {
  it('lead to paths of their own site, or to known targets', () => {
    const all = sourceFiles(['apps/approvals', 'apps/audit', 'apps/shared']).flatMap((file) =>
      targetsIn(file).map((target) => ({ file, target })),
    );
    expect(all.length).toBeGreaterThan(12);
    const others = all.filter(({ target }) => !OWN.test(target)).map(({ file, target }) => `${file}: ${target}`);
    expect(others.toSorted()).toEqual(ELSEWHERE.toSorted());
  });
});
