export { gatedCallWorkflow } from './gated-call.workflow.ts';
