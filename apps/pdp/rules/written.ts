import { readPolicyTexts, type PolicyPlaces } from '../engine/cedar/policy-folder.ts';
import { SCHEMA_FILE } from '../engine/cedar/schema.ts';

/**
 * Every file of a policy folder that decides as these places do: the rules as policies of one file, `rules.cedar`, beside those that are
 * there already. Throws `ERR_CONFIG_INVALID`.
 */
export async function writtenPolicies(
  places: PolicyPlaces,
): Promise<{ readonly file: string; readonly text: string }[]> {
  const { files } = await readPolicyTexts(places);
  const isRule = ({ file }: { file: string }) => file.startsWith('rules[');
  return [
    ...files.policies.filter((one) => !isRule(one)),
    {
      file: 'rules.cedar',
      text: files.policies
        .filter(isRule)
        .map(({ text }) => text)
        .join('\n'),
    },
    { file: SCHEMA_FILE, text: files.schema },
    { file: 'entities.json', text: files.entities },
    ...files.requestSchemas.map(({ file, text }) => ({ file, text })),
    ...files.obligations.map(({ file, text }) => ({ file, text })),
  ];
}
