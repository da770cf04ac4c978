import React from "react";
export const Page = (props: Props) => <Layout title="x"><Button onClick={go} /></Layout>;
