import { formatPolicies, policySetTextToParts, policyToJson, policyToText } from '@cedar-policy/cedar-wasm/nodejs';
import { ruleIndex } from '../../shared/rules/rules.ts';
import { readPolicyTexts, type PolicyPlaces } from '../engine/cedar/policy-folder.ts';
import { SCHEMA_FILE } from '../engine/cedar/schema.ts';

const LINE_WIDTH = 110;

/**
 * Every file of a policy folder that decides as these places do: the rules as policies of one file, `rules.cedar`, beside those that are
 * there already. Throws `ERR_CONFIG_INVALID`.
 */
export async function writtenPolicies(
  places: PolicyPlaces,
): Promise<{ readonly file: string; readonly text: string }[]> {
  const { files } = await readPolicyTexts(places);
  const isRule = ({ file }: { file: string }) => ruleIndex(file) !== undefined;
  const rules = files.policies.filter(isRule).map(({ text }) => formatted(text));
  return [
    ...files.policies.filter((one) => !isRule(one)),
    { file: 'rules.cedar', text: rules.join('\n') },
    { file: SCHEMA_FILE, text: files.schema },
    { file: 'entities.json', text: files.entities },
    ...files.requestSchemas.map(({ file, text }) => ({ file, text })),
    ...files.obligations.map(({ file, text }) => ({ file, text })),
  ];
}

/** The same policies as an author would write them: without the parentheses that the compiler needs. */
function formatted(text: string): string {
  const parts = policySetTextToParts(text);
  if (parts.type === 'failure') return text;
  return parts.policies.map(formattedPolicy).join('\n');
}

function formattedPolicy(policy: string): string {
  const parsed = policyToJson(policy);
  const plain = parsed.type === 'success' ? policyToText(parsed.json) : parsed;
  if (plain.type === 'failure') return policy;
  const answer = formatPolicies({ policyText: plain.text, lineWidth: LINE_WIDTH, indentWidth: 2 });
  return answer.type === 'success' ? answer.formatted_policy : policy;
}
