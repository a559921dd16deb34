/**
 * Members and link relations of our own on the wire between the two sides. Others ignore them. The names are of the reverse-DNS
 * form that ARAP demands, and stand at its extension points only (ARAP-EXT-01, ARAP-EXT-02).
 */

/**
 * In the context of every decision: the digest of everything that it was made from. It tells nothing but whether two decisions come of
 * the same texts.
 */
export const POLICY_VERSION_MEMBER = 'dev.countersign.policy_version';

/** In the context of a decision: ids of the policies that determined it. For enforcement points that may see diagnostics (ARAP-DEN-19). */
export const POLICIES_MEMBER = 'dev.countersign.policies';

/**
 * In `task.links`: where the access request service states who resolved the request, and how. A resource of its own, so that whoever
 * may read a status learns nothing of approvers (ARAP-STS-14, ARAP-STS-16).
 */
export const RESOLUTION_LINK = 'dev.countersign.resolution';
