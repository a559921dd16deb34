/** The handle of an accepted submission: where its access request is read and cancelled. @see ARAP, task handle */
export interface AccessRequestHandle {
  readonly accessRequestId: string;
  readonly statusEndpoint: string;
  readonly cancelEndpoint?: string;
  /** When the access request service gives the request up. */
  readonly expiresAt?: string;
}

/** One attempt to ask the access request service. Written before the service is contacted; key and body never change. */
export interface Submission {
  readonly gatedCallId: string;
  readonly generation: number;
  readonly idempotencyKey: string;
  readonly endpoint: string;
  /** The exact bytes of the request body. */
  readonly body: string;
  /** Absent until the service has answered. */
  readonly handle?: AccessRequestHandle;
}
