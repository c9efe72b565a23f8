// rd and the products of four signed bytes, added.
module dot4 (
    input wire [31:0] rd,
    input wire [31:0] rs1,
    input wire [31:0] rs2,
    output wire [31:0] result
);
  wire signed [15:0] product0 = $signed(rs1[7:0]) * $signed(rs2[7:0]);
  wire signed [15:0] product1 = $signed(rs1[15:8]) * $signed(rs2[15:8]);
  wire signed [15:0] product2 = $signed(rs1[23:16]) * $signed(rs2[23:16]);
  wire signed [15:0] product3 = $signed(rs1[31:24]) * $signed(rs2[31:24]);
  wire signed [17:0] sum = product0 + product1 + product2 + product3;
  assign result = rd + {{14{sum[17]}}, sum};
endmodule
