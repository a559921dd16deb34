/** The names on the wire that this library reads. They are those that the gateway writes. */
export const AUTHORIZATION_META = 'io.modelcontextprotocol/authorization';
export const DISPOSITION_META = 'io.modelcontextprotocol/tool-approval-disposition';
/** First name of the disposition key. */
export const DISPOSITION_META_ALIAS = 'net.openid.authzen/disposition';
export const REQUIREMENTS_META = 'dev.countersign/requirements';
export const PREPROCESSOR_META = 'dev.countersign/preprocessor';
