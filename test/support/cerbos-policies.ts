/**
 * Cerbos's rules for the tools of a file server: reading is free, writing needs an approval, everything else is
 * refused. Its policies see no context, so the approval is an attribute of the subject; a rule that needs one says so
 * in an output.
 */
export const CERBOS_POLICIES = {
  'tool.yaml': `
apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: tool
  version: default
  rules:
    - name: look
      actions: ['tools/call']
      effect: EFFECT_ALLOW
      roles: ['*']
      condition: { match: { expr: 'R.id in ["files__list_directory", "files__read_text_file"]' } }
    - name: write
      actions: ['tools/call']
      effect: EFFECT_ALLOW
      roles: ['*']
      condition:
        match:
          all:
            of:
              - expr: 'R.id == "files__write_file"'
              - expr: 'has(P.attr.approval) && P.attr.approval.verified && P.attr.approval.template == "operator_approval"'
      output:
        when:
          conditionNotMet: '{"needs": R.id == "files__write_file" ? "approval" : "nothing", "rule": "write"}'
`,
};
